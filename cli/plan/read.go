package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"lws-controller/api/client"
	v1 "lws-controller/api/v1"
	"lws-controller/controller/rollout"
	"lws-controller/revision"
	"lws-controller/topology"
)

// Reader asks the API server. It changes nothing: what it writes are dry runs.
type Reader struct {
	Kube kubernetes.Interface
	Sets *client.Client
}

// Read finds out what the change amounts to, and what there is. A set that changes
// meanwhile, as each does whose status is written during an update, is read again.
func (r Reader) Read(ctx context.Context, c *Change, now time.Time) (*Snapshot, error) {
	var s *Snapshot
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() (err error) {
		s, err = r.read(ctx, c, now)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// read does it once.
func (r Reader) read(ctx context.Context, c *Change, now time.Time) (*Snapshot, error) {
	s := &Snapshot{Now: now}
	if err := r.dryRun(ctx, c, s); err != nil {
		return nil, err
	}
	var err error
	if s.Revisions, err = (revision.Store{Client: r.Kube.AppsV1()}).List(ctx, s.After); err != nil {
		return nil, err
	}
	if err := r.undo(ctx, s); err != nil {
		return nil, err
	}
	ofSet := metav1.ListOptions{LabelSelector: labels.Set{v1.LabelName: c.Name}.String()}
	pods, err := r.Kube.CoreV1().Pods(c.Namespace).List(ctx, ofSet)
	if err != nil {
		return nil, fmt.Errorf("listing the pods: %w", err)
	}
	s.Pods = pods.Items
	// Also one with a name of the set's that is somebody else's.
	services, err := r.Kube.CoreV1().Services(c.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing the Services: %w", err)
	}
	s.Services = services.Items
	r.readGangs(ctx, c, s, ofSet)
	r.readClaims(ctx, c, s)
	r.readCapacity(ctx, c, s)
	if list, err := r.Kube.CoreV1().ResourceQuotas(c.Namespace).List(ctx, metav1.ListOptions{}); err != nil {
		s.Notes = append(s.Notes, fmt.Sprintf("quotas are not looked at: %v", err))
	} else {
		s.Quotas = list.Items
	}
	return s, nil
}

// readGangs reads PodGroups and Workloads, if the set asks for any and that is allowed.
func (r Reader) readGangs(ctx context.Context, c *Change, s *Snapshot, ofSet metav1.ListOptions) {
	if s.After.Spec.Scheduling == nil {
		return
	}
	podGroups, err := r.Kube.SchedulingV1beta1().PodGroups(c.Namespace).List(ctx, ofSet)
	if apierrors.IsNotFound(err) {
		s.NoGangs = topology.GangsNotServed
		return
	}
	if err != nil {
		s.Notes = append(s.Notes, fmt.Sprintf("PodGroups are not looked at: %v", err))
		return
	}
	s.PodGroups = podGroups.Items
	if workloads, err := r.Kube.SchedulingV1beta1().Workloads(c.Namespace).List(ctx, ofSet); err != nil {
		s.Notes = append(s.Notes, fmt.Sprintf("Workloads are not looked at: %v", err))
	} else {
		s.Workloads = workloads.Items
	}
}

// readClaims reads the claims, if the set has any and that is allowed.
func (r Reader) readClaims(ctx context.Context, c *Change, s *Snapshot) {
	if len(s.After.Spec.LeaderWorkerTemplate.VolumeClaimTemplates) == 0 {
		return
	}
	list, err := r.Kube.CoreV1().PersistentVolumeClaims(c.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		s.Notes = append(s.Notes, fmt.Sprintf("claims are not looked at: %v", err))
		return
	}
	s.Claims = slices.Clip(list.Items)
	if s.Claims == nil {
		s.Claims = []corev1.PersistentVolumeClaim{}
	}
}

// dryRun has the API server fill in defaults and check the changed set.
func (r Reader) dryRun(ctx context.Context, c *Change, s *Snapshot) error {
	request := func(verb string) *rest.Request {
		return r.Sets.RESTClient().Verb(verb).Namespace(c.Namespace).Resource(v1.Resource)
	}
	// As `kubectl apply` does: a misspelt field is an error, not left out.
	try := func(verb string) *rest.Request {
		return request(verb).Param("dryRun", metav1.DryRunAll).Param("fieldValidation", metav1.FieldValidationStrict)
	}
	result := request("GET").Name(c.Name).Do(ctx)
	live, err := result.Raw()
	if err != nil {
		// Raw leaves the API server's own answer unread.
		err = result.Error()
	}
	if apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return errors.New("the cluster knows no LeaderWorkerSets: their CRD is not installed")
	}
	if apierrors.IsNotFound(err) && c.Manifest != nil {
		object, err := c.create()
		if err != nil {
			return err
		}
		s.After = &v1.LeaderWorkerSet{}
		err = try("POST").SetHeader("Content-Type", "application/json").Body(object).Do(ctx).Into(s.After)
		if err != nil {
			return fmt.Errorf("the API server would refuse the set: %w", err)
		}
		return nil
	}
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("leaderworkerset %s/%s not found", c.Namespace, c.Name)
	}
	if err != nil {
		return fmt.Errorf("reading the set: %w", err)
	}
	s.Before, s.After = &v1.LeaderWorkerSet{}, &v1.LeaderWorkerSet{}
	if err := json.Unmarshal(live, s.Before); err != nil {
		return fmt.Errorf("reading the set: %w", err)
	}
	if s.Before.DeletionTimestamp != nil {
		return fmt.Errorf("set %s/%s is being deleted", c.Namespace, c.Name)
	}
	patch, err := c.patch(live)
	if err != nil {
		return err
	}
	err = try("PATCH").Name(c.Name).SetHeader("Content-Type", string(types.MergePatchType)).Body(patch).Do(ctx).Into(s.After)
	if err != nil {
		return fmt.Errorf("the API server would refuse the change: %w", err)
	}
	return nil
}

// undo carries out the annotation of that name, as the controller will.
func (r Reader) undo(ctx context.Context, s *Snapshot) error {
	steering, _ := rollout.ReadSteering(s.After.Annotations)
	if steering.Undo == "" || s.Before == nil {
		return nil
	}
	history, _ := revision.NewHistory(s.Revisions)
	update := ""
	if found := history.Find(history.Wanted(s.After, steering.RestartedAt)); found != nil {
		update = found.Key
	}
	target, why := history.Undo(s.After, steering.Undo, update, steering.RestartedAt)
	undone := s.After.DeepCopy()
	delete(undone.Annotations, v1.AnnotationUndo)
	if target == nil {
		s.Notes = append(s.Notes, fmt.Sprintf("nothing would be undone (%s): %s", steering.Undo, why))
		s.After = undone
		return nil
	}
	undone.Spec.LeaderWorkerTemplate = *target.Template.DeepCopy()
	undone.Spec.NetworkConfig = target.Network.DeepCopy()
	undone.ResourceVersion = s.Before.ResourceVersion
	stored, err := r.Sets.LeaderWorkerSets(undone.Namespace).Update(ctx, undone, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return fmt.Errorf("the API server would refuse to go back to revision %d: %w", target.Number, err)
	}
	s.Notes = append(s.Notes, fmt.Sprintf("the spec goes back to that of revision %d (%s)", target.Number, target.Key))
	s.After = stored
	return nil
}

// readCapacity reads nodes and what runs on them, if that is allowed.
func (r Reader) readCapacity(ctx context.Context, c *Change, s *Snapshot) {
	nodes, err := r.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		s.Notes = append(s.Notes, fmt.Sprintf("nodes are not looked at: %v", err))
		return
	}
	pods, err := r.Kube.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"})
	if err != nil {
		s.Notes = append(s.Notes, fmt.Sprintf("nodes are not looked at: %v", err))
		return
	}
	s.Nodes = nodes.Items
	if s.Nodes == nil {
		s.Nodes = []corev1.Node{}
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; p.Namespace != c.Namespace || p.Labels[v1.LabelName] != c.Name {
			s.Others = append(s.Others, *p)
		}
	}
}
