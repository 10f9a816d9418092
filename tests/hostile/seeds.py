"""Small files of every format, well-made and hostile, that fuzzing starts from."""

from __future__ import annotations

import gzip
import io
import zipfile
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io
import scipy.sparse as sp

NUMBERS_AND_PATHS = b"007 ../../etc/passwd\n1e5 C:\\CON\n-0 /dev/null\n=1+1 nan\n+7 0x10\n"

DEEP = pa.list_(pa.list_(pa.string()))
PATH = np.array([[0, 1, 0], [1, 0, 2.5], [0, 2.5, 0]])
HELD = np.array([[1, 0], [0, 1], [1, 1]], dtype=np.uint8)


def edges() -> dict[str, bytes]:
    """Edge lists."""
    return {
        "plain": b"1 2\n2 3\n3 1\n",
        "header": b"source,target,weight\nann,bob,1.5\nbob,cleo,2\n",
        "quotes": b'"a, b",c\n"say ""hello""",d\n',
        "bom-crlf": b"\xef\xbb\xbfa\tb\r\nb\tc\r\n",
        "utf-16": "a,b\nb,c\n".encode("utf-16"),
        "latin-1": "a,Stra\xdfe\n".encode("latin-1"),
        "nul": b"a,b\nb\0,c\n",
        "old-mac": b"a,b\rb,c\r",
        "weights": b"a b nan\nb c inf\nc d -1\nd e 1e-320\ne f 1e39\nf g 0\n",
        "comments": b"# note\n% note\n#python #java\n#java 1\n",
        "numbers-and-paths": NUMBERS_AND_PATHS,
        "html": b"<script>alert(1)</script>,b\n",
        "huge-field": b"a," + b"x" * 20_000 + b"\nb,c\n",
        "huge-number": b"9" * 5_000 + b" 1\n1 2\n",
        "repeated": b"a b\nb a\na a\na b\n",
        "unclosed": b'"a,b\nc,d\n',
    }


def gzipped() -> dict[str, bytes]:
    """Packed edge lists; a file may hold several packed parts."""
    packed = {name: gzip.compress(data, mtime=0) for name, data in edges().items()}
    parts = gzip.compress(b"a,b\n", mtime=0) + gzip.compress(b"b,c\n", mtime=0)
    return packed | {"parts": parts, "cut": parts[:-9], "many": gzip.compress(b"1 2\n" * 9_999)}


def labels() -> dict[str, bytes]:
    """Label files: pairs, lists, wide tables."""
    return {
        "pairs": b"node,label\na,red\nb,blue\n",
        "states": b"a,red,1\nb,red,0\nc,red,\n",
        "lists": b"a red green\nb blue\n",
        "joined": b"a,red;green|blue\nb,\n",
        "wide": b"node,red,blue\na,1,0\nb,,1\n",
        "unknown-node": b"z,red\n",
        "contradiction": b"a,red,1\na,red,0\n",
        "bom": b"\xef\xbb\xbfa,red\n",
        "numbers": b"7,1\n7,2\n",
        "huge-field": b"a," + b"r" * 20_000 + b"\n",
        "nul": b"a,\0\n",
    }


def nodes() -> dict[str, bytes]:
    """Lists of nodes, and of examples."""
    return {
        "nodes": b'node\na\n"b, c"\n#d\n',
        "support": b"a,1\nb,0\nc,+\nd,-\n",
        "bad": b'a,2\n"b\nc,1,1\n',
        "paths": NUMBERS_AND_PATHS,
    }


def graphml() -> dict[str, bytes]:
    """GraphML, with what XML can hide."""
    head = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    whole = (
        f'{head}<key id="w" for="edge" attr.name="weight"/>'
        '<key id="l" for="node" attr.name="labels"><default>x</default></key>'
        '<graph edgedefault="undirected"><node id="a"><data key="l">red;blue</data></node>'
        '<node id="b"/><edge source="a" target="b"><data key="w">2.5</data></edge>'
        "</graph></graphml>"
    )
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "ha"}">' for n in range(9))
    return {
        "whole": whole.encode(),
        "utf-16": f'<?xml version="1.0" encoding="utf-16"?>{whole}'.encode("utf-16"),
        "encoding": f'<?xml version="1.0" encoding="cp037"?>{whole}'.encode("cp037"),
        "unknown-encoding": f'<?xml version="1.0" encoding="rot13"?>{whole}'.encode(),
        "billion-laughs": f"<!DOCTYPE g [{laughs}]>{whole.replace('red', '&l8;')}".encode(),
        "outside": (
            b'<!DOCTYPE g [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
            + whole.replace("red", "&x;").encode()
        ),
        "deep": b"<graphml>" + b"<graph>" * 2_000,
        "again": whole.replace('id="b"', 'id="a"').encode(),
        "weight": whole.replace("2.5", "NaN").encode(),
        "hyperedge": whole.replace("</graph>", "<hyperedge/></graph>").encode(),
    }


def matlab() -> dict[str, bytes]:
    """MATLAB files, with matrices and with what is none."""
    return {
        "sparse": mat(network=sp.csc_array(PATH), group=sp.csc_array(HELD)),
        "packed": mat(True, network=sp.csc_array(PATH), group=sp.csc_array(HELD)),
        "dense": mat(network=PATH, group=HELD),
        "struct": mat(network={"a": 1}, group=HELD),
        "cells": mat(network=np.array([["a", 1]], dtype=object)),
        "text": mat(network="text"),
        "complex": mat(network=PATH * 1j),
        "cube": mat(network=np.ones((2, 2, 2))),
        "nan": mat(network=np.array([[0, np.nan], [np.nan, 0]])),
        "version-4": mat(format="4", network=PATH),
    }


def mat(do_compression: bool = False, format: Literal["4", "5"] = "5", **variables: Any) -> bytes:
    """A MATLAB file of these variables."""
    stream: Any = io.BytesIO()  # which SciPy's stubs do not know
    scipy.io.savemat(stream, variables, format=format, do_compression=do_compression)
    return bytes(stream.getvalue())


def zipped() -> dict[str, bytes]:
    """Archives, with names that lead elsewhere."""
    whole = {"x/data/edges.csv": "1,2\n2,3\n", "x/data/group-edges.csv": "1,1\n2,1\n"}
    listed = {"x/data/nodes.csv": "1\n2\n3\n", "x/data/groups.csv": "1\n"}
    return {
        "whole": archive(whole | listed),
        "stored": archive(whole, zipfile.ZIP_STORED),
        "lzma": archive(whole, zipfile.ZIP_LZMA),
        "bzip2": archive(whole, zipfile.ZIP_BZIP2),
        "outside": archive({"../../edges.csv": "1,2\n", "/etc/group-edges.csv": "1,1\n"}),
        "mac": archive({"__MACOSX/edges.csv": "\0", **whole}),
        "empty": archive({}),
    }


def archive(members: dict[str, str], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive of these files."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as writer:
        for name, text in members.items():
            writer.writestr(zipfile.ZipInfo(name), text, compression)
    return stream.getvalue()


def parquet_edges() -> dict[str, bytes]:
    """Edges as tables, with columns that are none."""
    texts = pa.array(["a", "b", "a"])
    named = pa.table({"source": texts, "target": texts})
    return {
        "texts": parquet(source=texts, target=pa.array(["b", "c", "c"]), weight=[1.0, 2.5, 3.0]),
        "integers": parquet(source=[1, 2, 3], target=[2, 3, 1]),
        "dictionary": parquet(source=texts.dictionary_encode(), target=texts),
        "nulls": parquet(source=pa.array(["a", None]), target=pa.array(["b", "c"])),
        "weights": parquet(source=[1, 2], target=[2, 3], weight=[float("nan"), -1.0]),
        "nested": parquet(source=[{"a": 1}], target=[[1, 2]]),
        "maps": parquet(
            source=pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), target=[1]
        ),
        "bytes": parquet(source=pa.array([b"\xff"]), target=pa.array([b"a"])),
        "dates": parquet(source=pa.array([1], pa.date32()), target=[1]),
        "name": pq_bytes(named, store_schema=False).replace(b"source", b"sourc\x9b"),
        "empty": pq_bytes(pa.table({})),
        "no-rows": parquet(source=pa.array([], pa.string()), target=pa.array([], pa.string())),
    }


def parquet_labels() -> dict[str, bytes]:
    """Labels as tables."""
    return {
        "pairs": parquet(node=["a", "b"], label=["red", "blue"]),
        "lists": parquet(node=["a", "b"], labels=[["red", "green"], []]),
        "deep-lists": parquet(node=["a"], labels=[[["red"]]]),
        "empty-deep-lists": parquet(node=["a"], labels=pa.array([[]], DEEP)),
        "structs": parquet(node=["a"], labels=[[{"name": "red"}]]),
        "wide": parquet(node=["a", "b"], red=[1, 0], blue=[None, True]),
        "states": parquet(node=["a", "b"], label=["red", "red"], state=[1, 0]),
    }


def parquet(**columns: Any) -> bytes:
    """A Parquet file of these columns."""
    return pq_bytes(pa.table(columns))


def pq_bytes(table: pa.Table, **options: Any) -> bytes:
    """A Parquet file of this table."""
    stream = io.BytesIO()
    pq.write_table(table, stream, **options)
    return stream.getvalue()
