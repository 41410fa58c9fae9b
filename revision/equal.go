package revision

// Equal says whether two contents mean the same.
func Equal(a, b *Content) bool { return false }
