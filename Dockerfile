# hlmc serve in a container: not root, a root file system that may be read-only, kernels compiled when it is built.
#
#   docker build -t hlmc .
#   docker run --read-only --tmpfs /tmp -v shop:/data -p 8000:8000 hlmc serve shop.toml --host 0.0.0.0 --log-json
#
# /data holds shop.toml, its tokens and, with SQLite, the store; with PostgreSQL it may be read-only too.
FROM python:3.13-slim AS build
COPY . /source
RUN python -m venv /hlmc && /hlmc/bin/pip install --no-cache-dir "/source[serve,postgres]"

FROM python:3.13-slim
RUN useradd --uid 10001 --create-home hlmc && mkdir /data /cache && chown hlmc:hlmc /data /cache
COPY --from=build /hlmc /hlmc
ENV PATH=/hlmc/bin:$PATH XDG_CACHE_HOME=/cache PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
WORKDIR /data
# What decisions need of the usual policies is compiled now; a policy that is not here compiles when the service starts.
RUN python -c "import hlmc; from hlmc.serve.warming import warm; \
    [warm(policy) for policy in (hlmc.Champion(arms=1000, memory=64), hlmc.TsallisINF(arms=10), \
    hlmc.HLMC(arms=100, memory=20, horizon=10**7), hlmc.EXP3(arms=10, horizon=10**6), hlmc.UCB1(arms=2))]"
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=120s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
ENTRYPOINT ["hlmc"]
CMD ["serve", "shop.toml", "--host", "0.0.0.0", "--log-json"]
