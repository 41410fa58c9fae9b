package kubectl

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/rollout"
)

// change is what a command does to a set.
type change struct {
	// annotation is set to value, or taken off if value is nil.
	annotation string
	value      *string
	// pinned: it is right only for the set that was read, as it was.
	pinned bool
	// did says what was done, in the past tense; idle, if not empty, why there is
	// nothing to do.
	did, idle string
	// back is the command that takes it back; without one that is to take the
	// annotation off. cannotUndo says why neither does.
	back       []string
	cannotUndo string
	// next is what to do now, if anything.
	next []string
}

// steerTries is how often a change is made anew because the set changed in between.
const steerTries = 8

// steer reads a set, has a change decided and makes it, in one request, and says what
// was written and how it is taken back.
func (o *options) steer(ctx context.Context, out io.Writer, name string, decide func(c *clients, set *v1.LeaderWorkerSet) (*change, error)) error {
	c, err := o.connect()
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		set, err := c.set(ctx, name)
		if err != nil {
			return err
		}
		ch, err := decide(c, set)
		if err != nil {
			return err
		}
		if ch.idle != "" {
			_, err := fmt.Fprintf(out, "%s: %s\n", c.title(name), ch.idle)
			return err
		}
		if err := ch.check(); err != nil {
			return err
		}
		patch, err := ch.patch(set)
		if err != nil {
			return err
		}
		_, err = c.sets.LeaderWorkerSets(c.namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: Plugin})
		switch {
		case apierrors.IsConflict(err) && try < steerTries:
			continue
		case err != nil:
			return c.explain(ctx, name, err)
		}
		return ch.tell(out, c, name)
	}
}

// check refuses a value that the controller would not understand, in its own words,
// whether the admission policy is installed or not.
func (ch *change) check() error {
	if ch.value == nil {
		return nil
	}
	if _, problems := rollout.ReadSteering(map[string]string{ch.annotation: *ch.value}); len(problems) > 0 {
		return fmt.Errorf("%q cannot be used: it must be %s", problems[0].Value, problems[0].Want)
	}
	return nil
}

// patch is of the set that was read and no other of its name.
func (ch *change) patch(set *v1.LeaderWorkerSet) ([]byte, error) {
	metadata := map[string]any{"uid": set.UID, "annotations": map[string]*string{ch.annotation: ch.value}}
	if ch.pinned {
		metadata["resourceVersion"] = set.ResourceVersion
	}
	return json.Marshal(map[string]any{"metadata": metadata})
}

func (ch *change) tell(out io.Writer, c *clients, name string) error {
	lines := fmt.Sprintf("%s: %s\n", c.title(name), ch.did)
	if ch.value != nil {
		lines += fmt.Sprintf("  set      %s: %q\n", ch.annotation, *ch.value)
		lines += fmt.Sprintf("  by hand  kubectl -n %s annotate lws/%s --overwrite %s=%s\n", c.namespace, name, ch.annotation, *ch.value)
	} else {
		lines += fmt.Sprintf("  removed  %s\n", ch.annotation)
		lines += fmt.Sprintf("  by hand  kubectl -n %s annotate lws/%s %s-\n", c.namespace, name, ch.annotation)
	}
	switch {
	case ch.cannotUndo != "":
		lines += "  to undo  " + ch.cannotUndo + "\n"
	case ch.back != nil:
		lines += "  to undo  " + c.words(name, ch.back) + "\n"
	default:
		lines += fmt.Sprintf("  to undo  kubectl -n %s annotate lws/%s %s-\n", c.namespace, name, ch.annotation)
	}
	if ch.next != nil {
		lines += "  follow   " + c.words(name, ch.next) + "\n"
	}
	_, err := io.WriteString(out, lines)
	return err
}

// words is a command line of ours: the command, the set, and what comes after it.
func (c *clients) words(name string, words []string) string {
	line := fmt.Sprintf("kubectl lws -n %s %s %s", c.namespace, words[0], name)
	for _, word := range words[1:] {
		line += " " + word
	}
	return line
}
