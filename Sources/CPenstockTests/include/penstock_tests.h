// Nothing is called here: what this target does, it does when it is loaded.
