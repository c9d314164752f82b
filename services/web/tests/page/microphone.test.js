import assert from "node:assert/strict";
import { test } from "node:test";
import { NoMicrophone, openMicrophone, problemOf, release } from "../../src/web/page/microphone.js";

const named = (name, message = "") => Object.assign(new Error(message), { name });

test("every failure of the microphone has its own words and a remedy", () => {
  const codes = {
    NotAllowedError: "refused", SecurityError: "forbidden", NotFoundError: "missing", NotReadableError: "busy",
    OverconstrainedError: "missing", AbortError: "busy", Strange: "unknown",
  };
  const messages = new Set();
  for (const [name, code] of Object.entries(codes)) {
    const problem = problemOf(named(name));
    assert.equal(problem.code, code);
    assert.ok(problem.remedy.length > 20);
    messages.add(problem.message);
  }
  assert.equal(messages.size, new Set(Object.values(codes)).size);
  assert.equal(problemOf(named("NotAllowedError", "Permission denied by system")).code, "forbidden");
  assert.equal(problemOf(undefined).code, "unknown");
});

const codeOf = async (browser) => {
  await assert.rejects(openMicrophone(browser), NoMicrophone);
  return openMicrophone(browser).catch((error) => error.problem.code);
};

test("a page that is not secure, or a browser without a microphone, is told so before anything is asked", async () => {
  assert.equal(await codeOf({ isSecureContext: false, mediaDevices: undefined }), "insecure");
  assert.equal(await codeOf({ isSecureContext: true, mediaDevices: undefined }), "unsupported");
});

test("what the browser says is told in our words", async () => {
  const mediaDevices = { getUserMedia: () => Promise.reject(named("NotFoundError")) };
  assert.equal(await codeOf({ isSecureContext: true, mediaDevices }), "missing");
});

test("a released microphone has no track left", () => {
  const stopped = [];
  release({ getTracks: () => [{ stop: () => stopped.push(1) }, { stop: () => stopped.push(2) }] });
  release(null);
  assert.deepEqual(stopped, [1, 2]);
});

test("a chosen microphone that is not there any more is replaced by the default one", async () => {
  const asked = [];
  const mediaDevices = {
    getUserMedia: ({ audio }) => {
      asked.push(audio.deviceId?.exact);
      return audio.deviceId ? Promise.reject(named("OverconstrainedError")) : Promise.resolve("the default");
    },
  };
  assert.equal(await openMicrophone({ isSecureContext: true, mediaDevices }, "headset"), "the default");
  assert.deepEqual(asked, ["headset", undefined]);
});
