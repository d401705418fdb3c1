"""Bytes to frames: wherever they are cut, the frames are the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coven.client.sse import FRAME_BYTES_MAX, Decoder, Frame, FrameTooLarge

STREAM = (
    '\ufeffid: a1\nevent: task.created\ndata: {"title": "Grüße \u2028 und\u0085 mehr"}\n\n'
    ": a comment\n\n"
    "id: a2\r\nevent: heartbeat\r\ndata: {}\r\n\r\n"
    "id: a3\revent: two.lines\rdata: one\rdata: two\r\r"
    "event: open\n\n"
    "id: a4\nevent: half\ndata: never finished"
).encode()

FRAMES = [
    Frame(event="task.created", data='{"title": "Grüße \u2028 und\u0085 mehr"}', id="a1"),
    Frame(event="heartbeat", data="{}", id="a2"),
    Frame(event="two.lines", data="one\ntwo", id="a3"),
    Frame(event="open", data="", id="a3"),
]


@given(cuts=st.lists(st.integers(0, len(STREAM)), max_size=12).map(sorted))
def test_frames_do_not_depend_on_where_the_bytes_are_cut(cuts: list[int]):
    decoder = Decoder()
    pieces = [STREAM[a:b] for a, b in zip([0, *cuts], [*cuts, len(STREAM)], strict=True)]
    assert [frame for piece in pieces for frame in decoder.feed(piece)] == FRAMES


def test_every_single_byte_may_arrive_alone():
    decoder = Decoder()
    assert [frame for at in STREAM for frame in decoder.feed(bytes([at]))] == FRAMES


def test_half_a_frame_is_not_a_frame():
    decoder = Decoder()
    assert list(decoder.feed(b"id: 1\nevent: a.b\ndata: {}\n")) == []
    assert len(list(decoder.feed(b"\n"))) == 1


def test_a_frame_without_end_is_refused_before_it_fills_the_memory():
    decoder = Decoder()
    piece = b"data: " + b"x" * (FRAME_BYTES_MAX // 4) + b"\n"
    for _ in range(3):
        assert list(decoder.feed(piece)) == []
    with pytest.raises(FrameTooLarge):
        list(decoder.feed(piece))
