"""Records, packs, mapped arrays and folders: everything that Winnow keeps on disk."""
