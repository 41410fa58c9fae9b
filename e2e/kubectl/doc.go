// Package kubectl tests the plugin kubectl lws on a real control plane: it is run by
// kubectl, as people do, with the rights that people have.
package kubectl
