// Package page looks at the controller's status page in a real browser, Chromium: a fleet
// of sets, and a large one in the middle of a rollout with failures.
//
// To look at the screenshots yourself:
//
//	go test -trimpath=false -count=1 ./page -artifacts -outputdir FOLDER
package page
