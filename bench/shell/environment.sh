# The Python environment by uv, both from hashed locks. In the container.
set -e
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -q -y --no-install-recommends python3-venv
python3 -m venv /opt/uv
/opt/uv/bin/pip install -q --disable-pip-version-check --require-hashes --no-deps -i "http://$1.1:3141/simple" -r /root/uv.lock.txt
export UV_DEFAULT_INDEX=http://$1.1:3141/simple
/opt/uv/bin/uv venv -q --python 3.11 /opt/ml-env
/opt/uv/bin/uv pip sync -q --require-hashes --python /opt/ml-env/bin/python3 /root/requirements.lock
/opt/ml-env/bin/python3 -c 'import sglang, orjson'
