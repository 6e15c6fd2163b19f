"""The tables of a catalogue. The comments are part of the database: ``.schema`` shows them, and docs/catalogue.md is
made from them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing

VERSION = 2
"""``PRAGMA user_version`` of a catalogue; it changes with the meaning or the names of tables and columns"""
APPLICATION_ID = 0x4B464361
"""``PRAGMA application_id`` of a catalogue: KFCa"""

SCHEMA = """
CREATE TABLE files (  -- one row for each file
    id INTEGER PRIMARY KEY,  -- number of the file in this catalogue; other tables name it "file"
    path TEXT NOT NULL UNIQUE,  -- absolute path, URL, or ARCHIVE!/MEMBER; bytes that are not UTF-8 as \\xNN
    size INTEGER,  -- bytes; NULL if the file could not be read
    sha256 TEXT,  -- hash of the content; NULL if the file could not be read
    format TEXT,  -- id of the format, as in keyframer formats; NULL if it is unknown
    version TEXT,  -- version of the format that the file states
    dialect TEXT,  -- layout within the format
    pronom TEXT,  -- id of the format in the PRONOM registry, if it has one
    writer TEXT,  -- the program that wrote the file, if it is known
    verdict TEXT NOT NULL,  -- clean, readable with problems, damaged, or not readable
    errors INTEGER NOT NULL,  -- number of issues with the severity error
    warnings INTEGER NOT NULL,  -- number of issues with the severity warning
    seconds REAL,  -- duration of the first clip; NULL without animation or frame rate
    frames_per_second REAL,  -- of the first clip
    clips INTEGER NOT NULL,  -- number of clips
    nodes INTEGER NOT NULL,  -- number of nodes; this and the next columns count all, even if tables list only 10,000
    animated_nodes INTEGER NOT NULL,  -- number of nodes with keys that differ
    meshes INTEGER NOT NULL,  -- number of meshes
    triangles INTEGER NOT NULL,  -- number of faces of all meshes
    materials INTEGER NOT NULL,  -- number of materials
    cameras INTEGER NOT NULL,  -- number of cameras
    lights INTEGER NOT NULL,  -- number of lights
    images INTEGER NOT NULL,  -- number of images that the file names or contains
    missing_images INTEGER NOT NULL,  -- number of images that were not found
    container TEXT,  -- the archive or disc image on a disk that the file is in; NULL for other files
    modified TEXT  -- when it was last changed, local or UTC, as 1994-07-01T12:00:00; NULL if unknown
);
CREATE INDEX files_by_date ON files (modified);
CREATE INDEX files_by_hash ON files (sha256);
CREATE INDEX files_by_format ON files (format, version);
CREATE INDEX files_by_verdict ON files (verdict);

CREATE TABLE nodes (  -- the nodes of scenes, in the order of the file; like all lists, at most 10,000 of a file
    file INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,  -- files.id
    number INTEGER NOT NULL,  -- position in the file, counted from 0
    name TEXT NOT NULL,  -- name, made safe to show
    kind TEXT NOT NULL,  -- object, dummy, bone, camera, light, target or ambient
    parent INTEGER,  -- number of the parent; NULL for a root
    mesh INTEGER,  -- number of its mesh
    hidden INTEGER NOT NULL,  -- 1 if it is hidden at rest
    PRIMARY KEY (file, number)
) WITHOUT ROWID;

CREATE TABLE tracks (  -- the keys of nodes
    file INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,  -- files.id
    number INTEGER NOT NULL,  -- position in the file, counted from 0
    clip INTEGER NOT NULL,  -- number of the clip
    node INTEGER NOT NULL,  -- nodes.number
    kind TEXT NOT NULL,  -- position, rotation, scale, visible, morph, fov ...
    keys INTEGER NOT NULL,  -- number of keys
    interpolation TEXT NOT NULL,  -- step, linear, tcb, bezier ...
    wrap TEXT NOT NULL,  -- what happens after the last key: single, repeat, loop
    first REAL,  -- frame of the first key; NULL without keys
    last REAL,  -- frame of the last key
    PRIMARY KEY (file, number)
) WITHOUT ROWID;

CREATE TABLE meshes (  -- triangle meshes
    file INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,  -- files.id
    number INTEGER NOT NULL,  -- position in the file, counted from 0
    name TEXT NOT NULL,  -- name, made safe to show
    vertices INTEGER NOT NULL,  -- number of vertices
    triangles INTEGER NOT NULL,  -- number of faces
    uv INTEGER NOT NULL,  -- 1 if it has texture coordinates
    colors INTEGER NOT NULL,  -- 1 if it has vertex colours
    PRIMARY KEY (file, number)
) WITHOUT ROWID;

CREATE TABLE materials (  -- materials
    file INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,  -- files.id
    number INTEGER NOT NULL,  -- position in the file, counted from 0
    name TEXT NOT NULL,  -- name, made safe to show
    color TEXT,  -- diffuse colour as #rrggbb
    opacity REAL,  -- 1 is opaque
    two_sided INTEGER NOT NULL,  -- 1 if both sides of faces are drawn
    maps TEXT NOT NULL,  -- slots with an image, separated by commas
    PRIMARY KEY (file, number)
) WITHOUT ROWID;

CREATE TABLE images (  -- images that files name or contain
    file INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,  -- files.id
    number INTEGER NOT NULL,  -- position in the file, counted from 0
    name TEXT NOT NULL,  -- name in the file
    status TEXT NOT NULL,  -- found, guessed, embedded, unusable, refused, missing or not looked for
    found TEXT,  -- path of the image that was found
    image TEXT,  -- kind and size of the image
    used_by TEXT NOT NULL,  -- materials and slots
    PRIMARY KEY (file, number)
) WITHOUT ROWID;
CREATE INDEX images_by_status ON images (status, name);

CREATE TABLE cameras (  -- cameras
    file INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,  -- files.id
    number INTEGER NOT NULL,  -- position in the file, counted from 0
    name TEXT NOT NULL,  -- name, made safe to show
    fov_degrees REAL,  -- horizontal field of view at rest
    PRIMARY KEY (file, number)
) WITHOUT ROWID;

CREATE TABLE lights (  -- lights
    file INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,  -- files.id
    number INTEGER NOT NULL,  -- position in the file, counted from 0
    name TEXT NOT NULL,  -- name, made safe to show
    type TEXT NOT NULL,  -- omni, spot, directional ...
    color TEXT,  -- colour at rest as #rrggbb
    multiplier REAL,  -- brightness at rest
    PRIMARY KEY (file, number)
) WITHOUT ROWID;

CREATE TABLE issues (  -- what keyframer check lists; docs/issues.md explains the codes
    file INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,  -- files.id
    number INTEGER NOT NULL,  -- position in the report, counted from 0
    severity TEXT NOT NULL,  -- error, warning or info
    code TEXT NOT NULL,  -- code of the issue
    offset INTEGER,  -- byte offset in the file; NULL if it is unknown
    path TEXT,  -- path of the record in the file
    message TEXT NOT NULL,  -- the issue in words
    PRIMARY KEY (file, number)
) WITHOUT ROWID;
CREATE INDEX issues_by_code ON issues (code, severity);

CREATE TABLE fingerprints (  -- numbers that are nearly equal for equal meshes and motion: for batch duplicates
    file INTEGER PRIMARY KEY REFERENCES files (id) ON DELETE CASCADE,  -- files.id
    triangles INTEGER NOT NULL,  -- number of faces of all nodes with a mesh
    shape REAL NOT NULL,  -- one number made of all meshes
    motion REAL NOT NULL,  -- one number made of the motion
    data BLOB NOT NULL  -- the whole fingerprint
);
CREATE INDEX fingerprints_by_shape ON fingerprints (triangles, shape);

CREATE TABLE resume (  -- how a later run knows what changed
    file INTEGER PRIMARY KEY REFERENCES files (id) ON DELETE CASCADE,  -- files.id
    stamp TEXT NOT NULL,  -- size and time of the file when it was read
    options TEXT NOT NULL,  -- hash of the options of the run
    program TEXT NOT NULL,  -- version of keyframer
    code TEXT,  -- why the file could not be processed
    also TEXT NOT NULL,  -- other files that were searched for, as JSON
    run INTEGER NOT NULL,  -- number of the last run that found the file
    merged_from TEXT  -- the catalogue that the rows were copied from
);
CREATE INDEX resume_by_run ON resume (run);

CREATE VIRTUAL TABLE search USING fts5 (path, names, words);

CREATE VIEW damaged_files AS  -- files that are damaged or cannot be read, with their first error
SELECT path, verdict, format, size,
    (SELECT code || ': ' || message FROM issues WHERE file = id AND severity = 'error' ORDER BY number LIMIT 1)
    AS reason
FROM files WHERE verdict IN ('damaged', 'not readable') ORDER BY path;

CREATE VIEW files_with_problems AS  -- files that are loaded, but have errors or warnings
SELECT path, format, errors, warnings,
    (SELECT group_concat(DISTINCT code) FROM issues WHERE file = id AND severity <> 'info') AS codes
FROM files WHERE verdict = 'readable with problems' ORDER BY path;

CREATE VIEW files_per_format AS  -- number and size of the files of each format and version
SELECT format, version, pronom, count(*) AS files, sum(size) AS bytes, sum(verdict = 'clean') AS clean,
    sum(verdict = 'readable with problems') AS with_problems, sum(verdict = 'damaged') AS damaged,
    sum(verdict = 'not readable') AS not_readable
FROM files GROUP BY format, version ORDER BY count(*) DESC, format, version;

CREATE VIEW files_per_writer AS  -- number of files that each program wrote
SELECT writer, format, count(*) AS files FROM files GROUP BY writer, format ORDER BY count(*) DESC, writer, format;

CREATE VIEW animated_files AS  -- files with motion, the longest first
SELECT path, format, seconds, frames_per_second, animated_nodes, nodes,
    (SELECT sum(keys) FROM tracks WHERE file = id) AS keys
FROM files WHERE animated_nodes > 0 ORDER BY seconds DESC, path;

CREATE VIEW missing_images AS  -- images that were not found, with the files that name them
SELECT images.name AS image, files.path, images.status, images.used_by
FROM images JOIN files ON files.id = images.file
WHERE status IN ('missing', 'refused') ORDER BY images.name, files.path;

CREATE VIEW issues_per_code AS  -- how often each issue occurs, and in how many files
SELECT code, severity, count(DISTINCT file) AS files, count(*) AS listed
FROM issues GROUP BY code, severity ORDER BY count(DISTINCT file) DESC, code;

CREATE VIEW identical_files AS  -- files with the same content
SELECT sha256, count(*) AS files, size, group_concat(path, char(10)) AS paths
FROM files WHERE sha256 IS NOT NULL GROUP BY sha256, size HAVING count(*) > 1 ORDER BY size DESC, sha256;
"""

_NAMES = {
    "path": "path of the file",
    "names": "names of nodes, meshes, materials, images, cameras and lights, each once",
    "words": "title, author, copyright and writer",
}
"""the columns of the full-text search; its statement cannot have comments"""

LISTS = ("nodes", "tracks", "meshes", "materials", "images", "cameras", "lights", "issues")
"""tables with many rows for a file"""

NUMBERS = (
    *("seconds", "frames_per_second", "clips", "nodes", "animated_nodes", "meshes", "triangles"),
    *("materials", "cameras", "lights", "images", "missing_images"),
)
"""columns of files that are numbers of the summary of a file"""
NOTHING = {
    **dict.fromkeys(NUMBERS, 0),
    **dict.fromkeys(
        ("version", "dialect", "pronom", "writer", "seconds", "frames_per_second", "container", "modified")
    ),
}
"""columns of a file without content"""

_STATEMENT = re.compile(r"^CREATE (?:VIRTUAL )?(TABLE|VIEW) (\w+)(?:[^\n]*?-- ([^\n]*))?.*?;$", re.M | re.S)
_COLUMN = re.compile(r"^    (\w+) ([A-Z]+).*?-- (.*)$", re.MULTILINE)


def described_tables() -> Iterator[tuple[str, str, str, list[tuple[str, str, str]]]]:
    """Yield each table and view: ``TABLE`` or ``VIEW``, its name, its description, and its columns with their types and
    descriptions, which are empty for views."""
    with closing(sqlite3.connect(":memory:")) as reference:
        reference.executescript(SCHEMA)
        for statement in _STATEMENT.finditer(SCHEMA):
            kind, name, description = statement.groups()
            columns = [(column, words, text) for column, words, text in _COLUMN.findall(statement[0])]
            if kind == "VIEW":
                columns = [(row[1], "", "") for row in reference.execute(f"PRAGMA table_info({name})")]
            if name == "search":
                columns = [(column, "TEXT", text) for column, text in _NAMES.items()]
                description = "full-text search over names (FTS5); rowid is files.id"
            yield kind, name, description, columns


COLUMNS = {name: [column for column, _, _ in columns] for _, name, _, columns in described_tables()}
"""the columns of each table and view, in order"""
