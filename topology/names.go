package topology

import (
	"crypto/sha1"
	"encoding/hex"
	"strconv"
	"strings"

	v1 "lws-controller/api/v1"
)

// LeaderName is the name of the leader pod of a group: <set>-<group>.
func LeaderName(set string, group int32) string {
	return set + "-" + itoa(group)
}

// WorkerName is the name of a worker pod: <set>-<group>-<worker>, worker >= 1.
func WorkerName(set string, group, worker int32) string {
	return LeaderName(set, group) + "-" + itoa(worker)
}

// PodName is the name of a pod of a group; worker 0 is the leader.
func PodName(set string, group, worker int32) string {
	if worker == 0 {
		return LeaderName(set, group)
	}
	return WorkerName(set, group, worker)
}

// ParsePodName is the strict inverse of PodName for one set: it is ok only when
// PodName of the result gives the same name again. A name that merely resembles
// one (a leading zero, a sign, a worker 0, an index above int32) is not ok.
func ParsePodName(set, pod string) (group, worker int32, ok bool) {
	rest, found := strings.CutPrefix(pod, set+"-")
	if !found || set == "" {
		return 0, 0, false
	}
	first, second, isWorker := strings.Cut(rest, "-")
	group, ok = parseIndex(first)
	if !ok || !isWorker {
		return group, 0, ok
	}
	worker, ok = parseIndex(second)
	if !ok || worker == 0 {
		return 0, 0, false
	}
	return group, worker, true
}

// Place is a pod's place in a set.
type Place struct {
	// Set is the name of the set.
	Set string
	// Group is the index of the group.
	Group int32
	// Worker is 0 for the leader.
	Worker int32
}

// Candidates are the places that a pod of this name can have: `a-1-2` is the
// leader of group 2 of a set `a-1`, or worker 2 of group 1 of a set `a`. A set
// whose pod could not be created because of the name is found this way when the
// name becomes free.
func Candidates(pod string) []Place {
	var places []Place
	for i := len(pod) - 1; i > 0; i-- {
		if pod[i] != '-' {
			continue
		}
		set := pod[:i]
		if group, worker, ok := ParsePodName(set, pod); ok {
			places = append(places, Place{Set: set, Group: group, Worker: worker})
		}
		if strings.Count(pod[i:], "-") == 2 {
			break
		}
	}
	return places
}

// ServiceName is the name of the headless Service that the pods of a group
// belong to, which is also their subdomain: the set's with Shared, one per group
// with UniquePerReplica.
func ServiceName(set string, group int32, policy v1.SubdomainPolicy) string {
	if policy == v1.SubdomainUniquePerReplica {
		return LeaderName(set, group)
	}
	return set
}

// GroupKey is the value of the group-key label, unique to a group in the
// cluster.
func GroupKey(namespace, leaderName string) string {
	return sha1Hex(namespace + "/" + leaderName)
}

// SubGroupKey is the value of the subgroup-key label. Unlike the group key it
// does not contain the namespace; the published API has it so.
func SubGroupKey(leaderName string, index int32) string {
	return sha1Hex(leaderName + "/" + itoa(index))
}

func sha1Hex(s string) string {
	sum := sha1.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

func itoa(i int32) string { return strconv.FormatInt(int64(i), 10) }

// parseIndex is the strict inverse of itoa for indices >= 0.
func parseIndex(s string) (int32, bool) {
	i, err := strconv.ParseInt(s, 10, 32)
	if err != nil || i < 0 || itoa(int32(i)) != s {
		return 0, false
	}
	return int32(i), true
}
