// What a module on the audio thread finds there; the DOM's own types leave it out.
// https://webaudio.github.io/web-audio-api/#AudioWorkletGlobalScope

declare abstract class AudioWorkletProcessor {
  readonly port: MessagePort;
  abstract process(inputs: Float32Array[][], outputs: Float32Array[][]): boolean;
}

declare function registerProcessor(name: string, processor: new (options: { processorOptions?: any }) => AudioWorkletProcessor): void;

/** Samples a second of the context that the module runs in. */
declare const sampleRate: number;
