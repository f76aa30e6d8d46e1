"""fetch.py URL: the page on stdout. Exit code 75 asks for another try, at the time that the server names."""

import os
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

try:
    with urlopen(sys.argv[1], timeout=10) as answer:
        sys.stdout.write(answer.read().decode())
except HTTPError as error:
    if error.code != 429:
        sys.exit(f"{sys.argv[1]}: {error}")
    Path(os.environ["QUEUECTL_RETRY_AFTER"]).write_text(error.headers.get("Retry-After", "60"))
    sys.exit(75)
