"""The pure core: every decision about a window, without I/O, clock, lock or tokenizer."""
