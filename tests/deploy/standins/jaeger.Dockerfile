# In the place of jaegertracing/jaeger: the same program, built from its module, without the page.
FROM scratch
COPY jaeger /cmd/jaeger/jaeger-linux
USER 10001
ENTRYPOINT ["/cmd/jaeger/jaeger-linux"]
