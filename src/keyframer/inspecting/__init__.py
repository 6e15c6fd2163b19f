"""Looking at files: what they are, what they hold as tables, and the text twin. Data and text; nothing here prints.

`identity` names a file from its head, `report` makes the tables of ``info``, `twin` writes a document as text and
`building` reads that text back, `pages` makes the documentation of the formats.
"""
