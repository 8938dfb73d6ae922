// Package hooksd puts the hook's JSON file where CRI-O reads it, takes it away,
// and says what is wrong with it.
//
// A file that CRI-O's loader cannot read stops CRI-O from starting, and a hook
// that cannot be run stops every container that it matches. So the file is
// proved with that loader (containers/common pkg/hooks), the program is looked
// at, and the file is written last and removed first. The directory is never
// removed: CRI-O would watch a deleted one for ever. Nor is the program:
// containers that were made with the hook name it until they are deleted.
package hooksd
