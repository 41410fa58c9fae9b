#!/usr/bin/env bash
# Installs Chromium, with which the status page is looked at, where there is no browser of
# its kind yet and where Debian's packages can be installed without a question. Elsewhere it
# says so: the tests are then left out, or fail in continuous integration.
set -euo pipefail
for name in chromium chromium-browser google-chrome google-chrome-stable; do
	if command -v "$name" >/dev/null; then
		exit 0
	fi
done
as_root=()
if [ "$(id -u)" != 0 ]; then
	as_root=(sudo -n)
fi
if ! command -v apt-get >/dev/null || ! "${as_root[@]}" true 2>/dev/null; then
	echo "no Chromium, and it cannot be installed here: the status page is not looked at" >&2
	exit 0
fi
echo "installing Chromium, for the tests of the status page"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core; }
{ "${as_root[@]}" apt-get update -qq && install; } >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
