package v1alpha1

// IngressFinalizer is the finalizer of Ingresses that are served. It is added before an Ingress has
// resources in the cloud, and removed after the last one is deleted.
const IngressFinalizer = Group + "/ingress"
