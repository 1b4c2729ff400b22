# The web server of the task.
FROM python:3.12-slim-bookworm
{installs}RUN mkdir -m 700 {state} {data}
COPY files /app
WORKDIR {folder}
CMD {command}
