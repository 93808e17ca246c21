# vlad with its prompt, notebooks and the C compiler: docs/installing.md shows its use.
FROM python:3.13-slim
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
COPY . /opt/vlad
RUN pip install --no-cache-dir '/opt/vlad[jupyter,lsp,plot]' && vlad doctor
WORKDIR /work
ENTRYPOINT ["vlad"]
