# The queue from a Python program: see client.py.
. "$(dirname "$0")/../setup.sh"

queuectl worker start --count 2
"${PYTHON:-python3}" "$here/client.py"
