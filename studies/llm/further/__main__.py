"""`python -m studies.llm.further DIR MODEL.gguf OUT [EFFORT]`: see `measuring`."""

import sys
from pathlib import Path

from studies.llm.further.measuring import effort_of, main

_data, _model, _out = (Path(word) for word in sys.argv[1:4])
main(_data, _model, _out, effort_of(sys.argv[4] if len(sys.argv) > 4 else ""))
