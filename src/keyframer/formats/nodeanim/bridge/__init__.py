"""The bridge between node animation documents and scenes; `unit_detection` finds units that the file does not state."""
