// Small worlds: simple facts, questions and answers in both languages, word for word as far as both languages allow. A
// sentence has one translation here, so that it can be told whether a model translates it right.
import { hash } from '../random.mjs';
import {
  animals,
  colours,
  counts,
  destinations,
  family,
  feelings,
  likings,
  men,
  places,
  pronouns,
  qualities,
  things,
  women,
} from './words.mjs';

/** Do these words never stand together in training? A tenth of all pairs do not. */
const isHeldOut = (one, other) => hash(`${one.en}|${other.en}`) % 10 === 0;

/** A pair of words, held out or not. */
function pairOf(random, ones, others, heldOut) {
  for (;;) {
    const [one, other] = [random.pick(ones), random.pick(others)];
    if (one.en !== other.en && !other.en.includes(one.en) && isHeldOut(one, other) === heldOut) {
      return [one, other];
    }
  }
}

const names = [...men, ...women];
const named = (words) => words.map((word) => ({ ...word, third: true }));
const people = [...named(names), ...named(names), ...pronouns, ...pronouns, ...pronouns, ...named(family)];
const heOf = (name) => (men.includes(name) ? { en: 'he', zh: '他' } : { en: 'she', zh: '她' });

const article = (noun) => (/^[aeiou]/.test(noun) ? 'an' : 'a');
const likes = ({ third }) => (third ? 'likes' : 'like');
const has = ({ third }) => (third ? 'has' : 'have');
const does = ({ third }) => (third ? 'does' : 'do');
const be = ({ en, third }) => (third ? 'is' : { I: 'am' }[en] || 'are');
const objects = { I: 'me', we: 'us', they: 'them', he: 'him', she: 'her' };
const object = ({ en }) => objects[en] ?? en;
const capital = (text) => text[0].toUpperCase() + text.slice(1);

// Each kind makes sentences without their ends: [English, Chinese, end], the end being '.' or '?'.
const kinds = {
  places(random, heldOut) {
    const [thing, place] = pairOf(random, things, places, heldOut);
    const a = `${article(thing.en)} ${thing.en}`;
    return random.pick([
      [`the ${thing.en} is ${place.en}`, `${thing.zh}在${place.zh}`, '.'],
      [`the ${thing.en} is ${place.en}`, `${thing.zh}在${place.zh}`, '.'],
      [`the ${thing.en} is not ${place.en}`, `${thing.zh}不在${place.zh}`, '.'],
      [`is the ${thing.en} ${place.en}`, `${thing.zh}在${place.zh}吗`, '?'],
      [`there is ${a} ${place.en}`, `${place.zh}有一${thing.measure}${thing.zh}`, '.'],
      [`I saw ${a} ${place.en}`, `我在${place.zh}看见了一${thing.measure}${thing.zh}`, '.'],
      [`put the ${thing.en} ${place.en}`, `把${thing.zh}放在${place.zh}`, '.'],
      [`where is the ${thing.en}`, `${thing.zh}在哪里`, '?'],
      [`what is ${place.en}`, `${place.zh}有什么`, '?'],
    ]);
  },
  people(random, heldOut) {
    const [name, place] = pairOf(random, people, places, heldOut);
    const verb = be(name);
    return random.pick([
      [`${name.en} ${verb} ${place.en}`, `${name.zh}在${place.zh}`, '.'],
      [`${name.en} ${verb} not ${place.en}`, `${name.zh}不在${place.zh}`, '.'],
      [`${verb} ${name.en} ${place.en}`, `${name.zh}在${place.zh}吗`, '?'],
      [`where ${verb} ${name.en}`, `${name.zh}在哪里`, '?'],
      [`who is ${place.en}`, `谁在${place.zh}`, '?'],
    ]);
  },
  likes(random, heldOut) {
    const [name, liking] = pairOf(random, people, likings, heldOut);
    const verb = does(name);
    return random.pick([
      [`${name.en} ${likes(name)} ${liking.en}`, `${name.zh}喜欢${liking.zh}`, '.'],
      [`${name.en} ${likes(name)} ${liking.en}`, `${name.zh}喜欢${liking.zh}`, '.'],
      [`${name.en} ${verb}n't like ${liking.en}`, `${name.zh}不喜欢${liking.zh}`, '.'],
      [`${verb} ${name.en} like ${liking.en}`, `${name.zh}喜欢${liking.zh}吗`, '?'],
      [`who likes ${liking.en}`, `谁喜欢${liking.zh}`, '?'],
      [`what ${verb} ${name.en} like`, `${name.zh}喜欢什么`, '?'],
    ]);
  },
  has(random, heldOut) {
    const [name, thing] = pairOf(random, people, things, heldOut);
    const count = random.pick(counts);
    const a = `${article(thing.en)} ${thing.en}`;
    return random.pick([
      [`${name.en} ${has(name)} ${a}`, `${name.zh}有一${thing.measure}${thing.zh}`, '.'],
      [`${name.en} ${has(name)} ${count.en} ${thing.many}`, `${name.zh}有${count.zh}${thing.measure}${thing.zh}`, '.'],
      [`${does(name)} ${name.en} have ${a}`, `${name.zh}有${thing.zh}吗`, '?'],
      [`who has the ${thing.en}`, `谁有${thing.zh}`, '?'],
      [`${name.en} bought ${a}`, `${name.zh}买了一${thing.measure}${thing.zh}`, '.'],
      [`${name.en} lost the ${thing.en}`, `${name.zh}把${thing.zh}丢了`, '.'],
    ]);
  },
  colours(random, heldOut) {
    const [thing, colour] = pairOf(random, things, colours, heldOut);
    const measure = thing.measure;
    return random.pick([
      [`the ${thing.en} is ${colour.en}`, `${thing.zh}是${colour.zh}的`, '.'],
      [`the ${thing.en} is ${colour.en}`, `${thing.zh}是${colour.zh}的`, '.'],
      [`is the ${thing.en} ${colour.en}`, `${thing.zh}是${colour.zh}的吗`, '?'],
      [`what color is the ${thing.en}`, `${thing.zh}是什么颜色的`, '?'],
      [`this is ${article(colour.en)} ${colour.en} ${thing.en}`, `这是一${measure}${colour.zh}的${thing.zh}`, '.'],
      [`I want the ${colour.en} ${thing.en}`, `我想要那${measure}${colour.zh}的${thing.zh}`, '.'],
    ]);
  },
  qualities(random, heldOut) {
    const [thing, quality] = pairOf(random, things, qualities, heldOut);
    return random.pick([
      [`the ${thing.en} is very ${quality.en}`, `${thing.zh}很${quality.zh}`, '.'],
      [`this ${thing.en} is very ${quality.en}`, `这${thing.measure}${thing.zh}很${quality.zh}`, '.'],
      [`that ${thing.en} is too ${quality.en}`, `那${thing.measure}${thing.zh}太${quality.zh}了`, '.'],
      [`the ${thing.en} is not ${quality.en}`, `${thing.zh}不${quality.zh}`, '.'],
    ]);
  },
  gives(random, heldOut) {
    const [name, thing] = pairOf(random, people, things, heldOut);
    const giver = random.pick(people.filter(({ en }) => en !== name.en));
    return random.pick([
      [`${giver.en} gave the ${thing.en} to ${object(name)}`, `${giver.zh}把${thing.zh}给了${name.zh}`, '.'],
      [`${giver.en} gave the ${thing.en} to ${object(name)}`, `${giver.zh}把${thing.zh}给了${name.zh}`, '.'],
      [`who gave the ${thing.en} to ${object(name)}`, `谁把${thing.zh}给了${name.zh}`, '?'],
      [`give the ${thing.en} to ${object(name)}`, `把${thing.zh}给${name.zh}`, '.'],
      [
        `${giver.en} gave ${object(name)} ${article(thing.en)} ${thing.en}`,
        `${giver.zh}给了${name.zh}一${thing.measure}${thing.zh}`,
        '.',
      ],
    ]);
  },
  goes(random, heldOut) {
    const [name, way] = pairOf(random, people, destinations, heldOut);
    return random.pick([
      [`${name.en} went ${way.en}`, `${name.zh}去了${way.zh}`, '.'],
      [`${name.en} ${be(name)} going ${way.en}`, `${name.zh}要去${way.zh}`, '.'],
      [`${name.en} went ${way.en} after school`, `${name.zh}放学后去了${way.zh}`, '.'],
      [`who went ${way.en}`, `谁去了${way.zh}`, '?'],
    ]);
  },
  because(random, heldOut) {
    const [animal, feeling] = pairOf(random, animals, feelings, heldOut);
    const [name, liking] = pairOf(random, names, likings, heldOut);
    const he = heOf(name);
    const [place, way] = [random.pick(places), random.pick(destinations)];
    return random.pick([
      [
        `the ${animal.en} sat ${place.en} because it was ${feeling.en}`,
        `${animal.zh}坐在${place.zh}，因为它${feeling.zh}了`,
        '.',
      ],
      [
        `the ${animal.en} didn't cross the street because it was too ${feeling.en}`,
        `${animal.zh}没有过马路，因为它太${feeling.zh}了`,
        '.',
      ],
      [
        `${name.en} likes ${liking.en}, so ${he.en} went ${way.en}`,
        `${name.zh}喜欢${liking.zh}，所以${he.zh}去了${way.zh}`,
        '.',
      ],
      [
        `${name.en} likes ${liking.en}, ${he.en} went ${way.en} after school`,
        `${name.zh}喜欢${liking.zh}，${he.zh}放学后去了${way.zh}`,
        '.',
      ],
    ]);
  },
};

/** Places are what the examples of the page are about. */
const MIX = [
  ...['places', 'places', 'places', 'people', 'likes', 'likes', 'has', 'has'],
  ...['colours', 'qualities', 'gives', 'gives', 'goes', 'because'],
];
const STATED = ['places', 'people', 'likes', 'has', 'colours', 'qualities', 'gives', 'goes'];

/** Two or three facts of a kind in one sentence. */
function several(random, heldOut) {
  const kind = kinds[random.pick(STATED)];
  const facts = [];
  const wanted = random.whole(2, 3);
  while (facts.length < wanted) {
    const fact = kind(random, heldOut);
    if (fact[2] === '.') {
      facts.push(fact);
    }
  }
  const [en, zh] = [0, 1].map((side) => facts.map((fact) => fact[side]));
  return [en.join(', '), zh.join('，'), '.'];
}

/** A sentence in both languages: { en, zh, kind }. All its pairs of words are held out, or none. */
export function world(random, heldOut) {
  const kind = random.chance(0.2) ? 'several' : random.pick(MIX);
  const [en, zh, end] = kind === 'several' ? several(random, heldOut) : kinds[kind](random, heldOut);
  return { kind, en: `${capital(en)}${end}`, zh: `${zh}${end === '?' ? '？' : '。'}` };
}

/** Single words, as a dictionary has them. */
export const dictionary = [things, places, names, colours, likings, family, animals].flat();
