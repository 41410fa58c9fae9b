package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Stored is what etcd stored under a key at a revision, which is the
// resourceVersion of the object. Value is nil where the key was deleted.
type Stored struct {
	Revision int64
	Key      string
	Value    []byte
}

// History is everything that was ever stored below the key prefixes, such as
// "/registry/pods/", in the order in which it was committed. A cluster with an
// audit log keeps it all.
func (c *Cluster) History(ctx context.Context, prefixes ...string) ([]Stored, error) {
	if c.opts.NoAudit {
		return nil, errors.New("the cluster was started without an audit log, and does not keep its history")
	}
	last, err := c.lastRevision(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // the watch has no end of its own
	body, err := c.askEtcd(ctx, "watch", map[string]any{"create_request": map[string]any{
		"key": everything, "range_end": everything, "start_revision": 1, "fragment": true,
	}})
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return readHistory(json.NewDecoder(body), last, prefixes)
}

// everything, as both ends of a range, means all keys: a zero byte in base64.
const everything = "AA=="

// etcdEvents is one message of a watch, as etcd's HTTP gateway writes it.
type etcdEvents struct {
	Result struct {
		CompactRevision int64  `json:"compact_revision,string"`
		CancelReason    string `json:"cancel_reason"`
		Events          []struct {
			Type string
			KV   struct {
				Key, Value  []byte
				ModRevision int64 `json:"mod_revision,string"`
			}
		}
	}
	Error *struct{ Message string }
}

// readHistory reads up to the last revision: each has an event, of whatever key.
func readHistory(messages *json.Decoder, last int64, prefixes []string) ([]Stored, error) {
	var out []Stored
	for {
		var m etcdEvents
		if err := messages.Decode(&m); err != nil {
			return nil, fmt.Errorf("history of etcd: %w", err)
		}
		if m.Error != nil || m.Result.CancelReason != "" || m.Result.CompactRevision != 0 {
			return nil, fmt.Errorf("history of etcd: compacted at %d, cancelled %q, %+v", m.Result.CompactRevision, m.Result.CancelReason, m.Error)
		}
		reached := int64(0)
		for _, e := range m.Result.Events {
			reached = e.KV.ModRevision
			key := string(e.KV.Key)
			if reached > last || !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(key, p) }) {
				continue
			}
			s := Stored{Revision: reached, Key: key}
			if e.Type != "DELETE" {
				s.Value = e.KV.Value
			}
			out = append(out, s)
		}
		if reached >= last {
			return out, nil
		}
	}
}

func (c *Cluster) lastRevision(ctx context.Context) (int64, error) {
	body, err := c.askEtcd(ctx, "kv/range", map[string]any{"key": everything, "range_end": everything, "count_only": true})
	if err != nil {
		return 0, err
	}
	defer body.Close()
	var answer struct {
		Header struct {
			Revision int64 `json:",string"`
		}
	}
	if err := json.NewDecoder(body).Decode(&answer); err != nil {
		return 0, fmt.Errorf("revision of etcd: %w", err)
	}
	return answer.Header.Revision, nil
}

func (c *Cluster) askEtcd(ctx context.Context, what string, request any) (io.ReadCloser, error) {
	data, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	url := "http://" + c.slot.addr(portEtcd) + "/v3/" + what
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		resp.Body.Close()
		return nil, fmt.Errorf("%s answers %s: %s", url, resp.Status, text)
	}
	return resp.Body, nil
}
