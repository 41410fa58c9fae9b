package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"lws-controller/api/client"
	lwsv1 "lws-controller/api/v1"
	"lws-controller/controller"
)

// observer looks at one set: the set and its pods in the API server, its groups
// where the controller shows them.
type observer struct {
	kube            kubernetes.Interface
	sets            *client.Client
	namespace, name string
	groupsURL       string
}

// look takes a snapshot.
func (o *observer) look(ctx context.Context) (Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	s := Snapshot{Name: o.name}
	set, err := o.sets.LeaderWorkerSets(o.namespace).Get(ctx, o.name, metav1.GetOptions{})
	switch {
	case err == nil:
		s.describe(set)
	case !apierrors.IsNotFound(err):
		return s, fmt.Errorf("reading the set: %w", err)
	}
	pods, err := o.kube.CoreV1().Pods(o.namespace).List(ctx, metav1.ListOptions{LabelSelector: lwsv1.LabelName + "=" + o.name})
	if err != nil {
		return s, fmt.Errorf("reading the pods: %w", err)
	}
	s.Pods = len(pods.Items)
	if !s.Exists {
		return s, nil
	}
	sets, err := o.debug(ctx)
	if err != nil {
		return s, err
	}
	now := time.Now()
	for _, d := range sets {
		if d.Namespace != o.namespace || d.Name != o.name {
			continue
		}
		for _, g := range d.Groups {
			s.Groups = append(s.Groups, join(g, pods.Items, s.Size, now))
		}
	}
	slices.SortFunc(s.Groups, func(a, b Group) int { return int(a.Index - b.Index) })
	return s, nil
}

// describe takes over what the set itself says.
func (s *Snapshot) describe(set *lwsv1.LeaderWorkerSet) {
	s.Exists, s.Replicas, s.Size = true, 1, 1
	if r := set.Spec.Replicas; r != nil {
		s.Replicas = *r
	}
	if n := set.Spec.LeaderWorkerTemplate.Size; n != nil {
		s.Size = *n
	}
	s.Conditions = set.Status.Conditions
	s.Observed = set.Status.ObservedGeneration == set.Generation
}

// join puts together what the controller knows of a group and its pods.
func join(g controller.DebugGroup, pods []corev1.Pod, size int32, now time.Time) Group {
	out := Group{Index: g.Index, Phase: g.Phase, Since: now.Sub(g.Since), Size: g.Size, Revision: g.Revision}
	if g.Pods == 0 { // else the view shows what it waits for
		out.Held = g.WaitingFor
	}
	if out.Size == 0 { // no pods yet that would say
		out.Size = size
	}
	for _, p := range pods {
		if p.Labels[lwsv1.LabelGroupIndex] != strconv.Itoa(int(g.Index)) {
			continue
		}
		if p.Spec.NodeName != "" {
			out.Nodes = append(out.Nodes, p.Spec.NodeName)
		}
		if p.DeletionTimestamp == nil && ready(&p) {
			out.Ready++
		}
	}
	slices.Sort(out.Nodes)
	out.Nodes = slices.Compact(out.Nodes)
	return out
}

func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// debug reads /debug/groups.
func (o *observer) debug(ctx context.Context) ([]controller.DebugSet, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, o.groupsURL, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking the controller: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("asking the controller: %s answers %s", o.groupsURL, answer.Status)
	}
	var page struct {
		Sets []controller.DebugSet `json:"sets"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&page); err != nil {
		return nil, fmt.Errorf("reading %s: %w", o.groupsURL, err)
	}
	return page.Sets, nil
}
