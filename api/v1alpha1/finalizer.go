package v1alpha1

// IngressFinalizer is the finalizer of Ingresses that are served. It is added before an Ingress has
// resources in the cloud, and removed after the last one is deleted.
const IngressFinalizer = Group + "/ingress"

// BindingFinalizer is the finalizer of TargetGroupBindings that are served. It goes once their targets are
// deregistered.
const BindingFinalizer = Group + "/target-group-binding"

// BindingMemory is the annotation of TargetGroupBindings that are served. It has what is needed to leave
// their target groups.
const BindingMemory = Group + "/target-group-binding"

// ConditionServed is the condition that TargetGroupBindings get.
const ConditionServed = Group + "/Served"
