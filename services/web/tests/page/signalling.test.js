import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { answerTo, callsUrl, socketUrl } from "../../src/web/page/signalling.js";
import { NotReached } from "../../src/web/page/webrtc.js";

globalThis.location ??= { href: "https://notes.example/" };
const fetched = globalThis.fetch;
afterEach(() => (globalThis.fetch = fetched));

const never = new AbortController().signal;
const answering = (response) => (globalThis.fetch = async (...request) => (requests.push(request), response));
let requests = [];

test("V2. the credential of one connection goes with the offer, to our own origin or to its provider", async () => {
  requests = [];
  answering(new Response("v=0", { status: 201 }));
  assert.equal(await answerTo("/v1/realtime/calls", "offer", "ek_1", never), "v=0");
  const [[url, { headers, body }]] = requests;
  assert.deepEqual([url, body, headers.authorization, headers["content-type"]], ["/v1/realtime/calls", "offer", "Bearer ek_1", "application/sdp"]);
  const session = { model: "gpt-realtime-2.1" };
  const far = "https://far.example/v1/realtime";
  assert.equal(callsUrl({ url: null, session }), "/v1/realtime/calls");
  assert.equal(callsUrl({ url: far, session }), "https://far.example/v1/realtime/calls");
  assert.match(socketUrl({ url: null, session }), /^wss?:\/\/[^/]+\/v1\/realtime$/);
  assert.equal(socketUrl({ url: far, session }), "wss://far.example/v1/realtime?model=gpt-realtime-2.1");
  assert.equal(socketUrl({ url: "http://127.0.0.1:1/v1/realtime", session }), "ws://127.0.0.1:1/v1/realtime?model=gpt-realtime-2.1");
});

test("where there is no WebRTC another wire may do; a refusal is told in its own words", async () => {
  answering(new Response("", { status: 404 }));
  await assert.rejects(answerTo("/x", "offer", "ek_1", never), NotReached);
  answering(Response.json({ code: "busy", message: "All places are taken." }, { status: 429 }));
  await assert.rejects(answerTo("/x", "offer", "ek_1", never), /All places are taken/);
  answering(Response.json({ error: { message: "Quota." } }, { status: 403 }));
  await assert.rejects(answerTo("/x", "offer", "ek_1", never), /Quota/);
  answering(new Response("oops", { status: 500 }));
  await assert.rejects(answerTo("/x", "offer", "ek_1", never), /500/);
});

test("nobody there is said so", async () => {
  globalThis.fetch = async () => {
    throw new TypeError("Failed to fetch");
  };
  await assert.rejects(answerTo("https://far.example/calls", "offer", "ek_1", never), /Nobody answers at far.example/);
});
