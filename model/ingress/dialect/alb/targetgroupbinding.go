package alb

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// This file has the kind TargetGroupBinding: apis/elbv2/v1beta1/targetgroupbinding_types.go.

// BindingKind is the kind of TargetGroupBindings, of ParamsVersion.
const BindingKind = "TargetGroupBinding"

// TargetGroupBinding has the endpoints of a Service registered in a target group.
type TargetGroupBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BindingSpec   `json:"spec,omitempty"`
	Status BindingStatus `json:"status,omitempty"`
}

// TargetGroupBindingList is a list of TargetGroupBindings.
type TargetGroupBindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []TargetGroupBinding `json:"items"`
}

// BindingSpec says which Service, and which target group.
type BindingSpec struct {
	TargetGroupARN          string             `json:"targetGroupARN,omitempty"`
	TargetGroupName         string             `json:"targetGroupName,omitempty"`
	MultiClusterTargetGroup bool               `json:"multiClusterTargetGroup,omitempty"`
	TargetType              string             `json:"targetType,omitempty"`
	TargetGroupProtocol     string             `json:"targetGroupProtocol,omitempty"`
	ServiceRef              BoundService       `json:"serviceRef"`
	Networking              *BindingNetworking `json:"networking,omitempty"`

	NodeSelector         *metav1.LabelSelector `json:"nodeSelector,omitempty"`
	IPAddressType        string                `json:"ipAddressType,omitempty"`
	VpcID                string                `json:"vpcID,omitempty"`
	IamRoleArnToAssume   string                `json:"iamRoleArnToAssume,omitempty"`
	AssumeRoleExternalID string                `json:"assumeRoleExternalId,omitempty"`
}

// BoundService is a port of a Service.
type BoundService struct {
	Name string             `json:"name"`
	Port intstr.IntOrString `json:"port"`
}

// BindingNetworking has rules of security groups.
type BindingNetworking struct {
	Ingress []runtime.RawExtension `json:"ingress,omitempty"`
}

// A BindingRule permits some peers to connect to some ports of targets.
type BindingRule struct {
	From []struct {
		IPBlock struct {
			CIDR string `json:"cidr"`
		} `json:"ipBlock"`
		SecurityGroup struct {
			GroupID string `json:"groupID"`
		} `json:"securityGroup"`
	} `json:"from"`
	Ports []struct {
		Protocol string              `json:"protocol"`
		Port     *intstr.IntOrString `json:"port"`
	} `json:"ports"`
}

// String returns the rule in words.
func (r BindingRule) String() string {
	var ports, from []string
	for _, p := range r.Ports {
		port := "any port"
		if p.Port != nil {
			port = p.Port.String()
		}
		ports = append(ports, cmp.Or(p.Protocol, "TCP")+" "+port)
	}
	for _, f := range r.From {
		from = append(from, cmp.Or(f.SecurityGroup.GroupID, f.IPBlock.CIDR))
	}
	if len(ports) == 0 {
		ports = []string{"TCP any port"}
	}
	return strings.Join(ports, " and ") + " from " + strings.Join(from, " and ")
}

// Rules returns the rules that can be read.
func (n *BindingNetworking) Rules() (rules []BindingRule) {
	for i := range n.Ingress {
		var r BindingRule
		if json.Unmarshal(n.Ingress[i].Raw, &r) == nil {
			rules = append(rules, r)
		}
	}
	return rules
}

// BindingStatus is what a controller has done.
type BindingStatus struct {
	ObservedGeneration *int64             `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// ofStacks are labels that the controller gives to what it makes for Ingresses, Services and Gateways:
// pkg/deploy/tracking/provider.go, and pkg/config/controller_config.go.
var ofStacks = []string{"ingress.k8s.aws/", "service.k8s.aws/", "gateway.k8s.aws.nlb/", "gateway.k8s.aws.alb/"}

// OfController reports whether the controller made the binding, for an Ingress, a Service or a Gateway.
func (b *TargetGroupBinding) OfController() bool {
	for label := range b.Labels {
		if slices.ContainsFunc(ofStacks, func(of string) bool { return strings.HasPrefix(label, of+"stack") }) {
			return true
		}
	}
	return false
}

// DeepCopyObject returns a copy.
func (b *TargetGroupBinding) DeepCopyObject() runtime.Object { return b.DeepCopy() }

// DeepCopy returns a copy.
func (b *TargetGroupBinding) DeepCopy() *TargetGroupBinding {
	out := *b
	b.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.NodeSelector = b.Spec.NodeSelector.DeepCopy()
	if n := b.Spec.Networking; n != nil {
		out.Spec.Networking = &BindingNetworking{}
		for i := range n.Ingress {
			out.Spec.Networking.Ingress = append(out.Spec.Networking.Ingress, *n.Ingress[i].DeepCopy())
		}
	}
	if g := b.Status.ObservedGeneration; g != nil {
		out.Status.ObservedGeneration = new(*g)
	}
	out.Status.Conditions = slices.Clone(b.Status.Conditions)
	return &out
}

// DeepCopyObject returns a copy.
func (l *TargetGroupBindingList) DeepCopyObject() runtime.Object {
	out := &TargetGroupBindingList{TypeMeta: l.TypeMeta}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopy())
	}
	return out
}
