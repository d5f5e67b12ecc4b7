package v1alpha1

// IngressFinalizer is the finalizer of Ingresses that are served. It is added before an Ingress has
// resources in the cloud, and removed after the last one is deleted.
const IngressFinalizer = Group + "/ingress"

// BindingFinalizer is the finalizer of TargetGroupBindings that are served. It goes once their targets are
// deregistered.
const BindingFinalizer = Group + "/target-group-binding"

// BindingRecord is a label of LoadBalancers that are records of TargetGroupBindings, with the namespace that the
// operator looks after or "" for all, and an annotation, which says what the object is for.
const BindingRecord = Group + "/target-group-binding"

// AdoptionRecord is a label of LoadBalancers that are records of what is taken over from other controllers, with the
// namespace that the operator looks after or "" for all, and an annotation, which says what the object is for.
const AdoptionRecord = Group + "/adoption"

// ConditionServed is the condition that TargetGroupBindings get.
const ConditionServed = Group + "/Served"
