"""What a run needs beyond its model and data, by the benchmark's own program."""

from __future__ import annotations

from benchmarks.memory import IMAGE, peak


def test_an_image_of_ten_thousand_pixels_needs_little():
    gigabytes, queries = peak(IMAGE)
    assert queries > 60
    assert gigabytes < 0.05
