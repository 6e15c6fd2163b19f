"""Convert bytes to values and back, without knowledge of any format.

* `cursor` reads within bounds and reports where it failed; `sink` writes.
* `field_types`, `dependent_types` and `exact_floats` are the types that fields of records are declared with.
* `record_plan` is the plan made from a declaration; `reader_source` generates the reader of a record class from it.
  `record` reads, writes, dumps and describes records.
* `key_table` stores animation keys as columns.
* `encoding_style` is the byte order and the kind of text of a file.
* `lossless_json` converts numbers to JSON and back; `array_conversion` converts arrays to the types of a file.
"""
