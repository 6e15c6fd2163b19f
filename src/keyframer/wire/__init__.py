"""Convert bytes to values and back, without knowledge of any format.

* `cursor` reads within bounds and reports where it failed; `sink` writes.
* `field_types` has the types that fields of records are declared with; `rows` those of tables whose columns depend on
  the record.
* `record_plan` is the plan made from a declaration; `reader_source` generates the reader of a record class from it.
  `record` reads, writes, dumps and describes records.
* `encoding_style` is the byte order and the kind of text of a file.
* `structure` is the structure of records and files as data, for descriptions in other languages.
* `lossless_json` converts numbers to JSON and back.
"""
