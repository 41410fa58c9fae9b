#!/bin/sh
# Generates what is made from the types and markers in api/v1: their deepcopy
# functions and the CRD. With --check it changes nothing, and fails, showing the
# difference, when what is there is not what would be generated.
set -eu
cd "$(dirname "$0")/.."

deepcopy=api/v1/zz_generated.deepcopy.go
crd=deploy/crd/leaderworkerset.x-k8s.io_leaderworkersets.yaml
tool() { go tool -modfile=e2e/tools/go.mod "$@"; }

new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT

tool controller-gen paths=./api/v1 object output:object:dir="$new" \
	crd:generateEmbeddedObjectMeta=true output:crd:dir="$new"
go -C e2e/tools run ./crdfinish <"$new/$(basename "$crd")" >"$new/finished.yaml"

case ${1-} in
"")
	cp "$new/zz_generated.deepcopy.go" "$deepcopy"
	cp "$new/finished.yaml" "$crd"
	;;
--check)
	if ! diff -u "$deepcopy" "$new/zz_generated.deepcopy.go" || ! diff -u "$crd" "$new/finished.yaml"; then
		echo "generated files are stale: run api/generate.sh" >&2
		exit 1
	fi
	;;
*)
	echo "usage: $0 [--check]" >&2
	exit 2
	;;
esac
