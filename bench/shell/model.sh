# One commit of the model. On the host.
set -e
mkdir -p /srv/models/qwen3.6-tiny/assets
cd /srv/models/qwen3.6-tiny
url=http://$1.1:8090/lab/qwen3.6-tiny/resolve/94ac6c0143eefcb6e8e108fb472487647514c3a3
for file in .gitattributes README.md assets/shape.txt chat_template.jinja config.json generation_config.json \
  model-00001-of-00002.safetensors model-00002-of-00002.safetensors model.safetensors.index.json tokenizer.json tokenizer_config.json; do
  curl -fsSL -o "$file" "$url/$file"
done
sha256sum -c <<'END'
a970293b329e9bb6c03f72c30c54e4aa6ad98c6a756ff09fc99b3ef0ceaba0ec  model-00001-of-00002.safetensors
80ae44d52281a2433cca7f766968cdd99156aea1ec648b6dafe358ae640bcd2a  model-00002-of-00002.safetensors
END
