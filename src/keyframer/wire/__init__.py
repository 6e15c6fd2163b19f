"""Convert bytes to values and back, without knowledge of any format.

* `cursor` reads within bounds and reports where it failed; `sink` writes.
* `field_types` and `dependent_types` are the types that fields of records are declared with.
* `record_plan` is what a declaration says, worked out once. `record` reads, writes, dumps and describes records by it,
  and `quick_readers` generates a fast function from it for ordinary records.
* `key_table` stores animation keys as columns.
* `encoding_style` is what varies between files of one format: byte order and kind of text.
"""
