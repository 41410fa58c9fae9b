#!/usr/bin/env bash
# Prints the folder in which prometheus and promtool are. Where the machine lacks them,
# Debian's package is unpacked into the user's cache folder: nothing is installed, and no
# service started.
set -euo pipefail

if command -v prometheus >/dev/null && command -v promtool >/dev/null; then
	dirname "$(command -v promtool)"
	exit
fi
home=${XDG_CACHE_HOME:-$HOME/.cache}/lws-controller/prometheus
bin=$home/usr/bin
# Two packages of tests may ask at the same time.
mkdir -p "$home"
exec 9>"$home/lock"
flock 9
if ! "$bin/promtool" --version >/dev/null 2>&1; then
	work=$(mktemp -d "$home/download.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	chmod 755 "$work"
	cd "$work"
	if ! apt-get -qq download prometheus >log 2>&1; then
		# The lists of packages are not there, or old.
		as_root=(env)
		[ "$(id -u)" = 0 ] || as_root=(sudo -n)
		"${as_root[@]}" apt-get -qq update >>log 2>&1 || true
		apt-get -qq download prometheus >>log 2>&1 || {
			cat log >&2
			echo "prometheus is not installed, and Debian's package cannot be had: install prometheus and promtool" >&2
			exit 1
		}
	fi
	dpkg-deb --extract prometheus_*.deb unpacked
	rm -rf "$home/usr"
	mv unpacked/usr "$home/usr"
	"$bin/promtool" --version >/dev/null
fi
echo "$bin"
