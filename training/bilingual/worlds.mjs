// Small worlds: a few facts in simple sentences, then one of them asked for or said again. What comes last can be known
// from what came first alone, so this is where a model learns to look back, and where that has an exact answer.
import { hash } from '../random.mjs';
import { en, zh } from './words.mjs';

/** Is this pair of words never told in training? A tenth of all are not. */
export const isHeldOut = (one, other) => hash(`${one}|${other}`) % 10 === 0;

/** Pairs [one, other], no word twice, all of them held out or none. */
function pairs(random, ones, others, count, heldOut) {
  const left = random.some(ones, Math.min(ones.length, count * 30));
  const right = random.some(others, Math.min(others.length, count * 30));
  const found = [];
  for (const one of left) {
    const at = right.findIndex(
      (other) => !one.includes(other) && !other.includes(one) && isHeldOut(one, other) === heldOut,
    );
    if (at >= 0 && found.length < count) {
      found.push([one, right.splice(at, 1)[0]]);
    }
  }
  return found;
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);
const inWords = (parts) => (parts.length < 2 ? parts[0] : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`);
const article = (noun) => (/^[aeiou]/.test(noun) ? 'an' : 'a');

/** The two ways to string facts together. */
const enFacts = (random, facts) =>
  random.chance(0.7)
    ? `${capital(random.chance(0.5) ? facts.join(', ') : inWords(facts))}.`
    : facts.map((fact) => `${capital(fact)}.`).join(' ');
const zhFacts = (random, facts) =>
  random.chance(0.7) ? `${facts.join('，')}。` : facts.map((fact) => `${fact}。`).join('');

// ===== Each kind of world: the facts, then what is said of each ========================================================

const enKinds = {
  places(random, count, heldOut) {
    const facts = pairs(random, en.things, en.places, count, heldOut);
    const bare = (place) => place.replace(/^\w+ /, '');
    return {
      told: facts.map(([thing, place]) => `the ${thing} is ${place}`),
      again: facts.map(([thing, place]) => [
        `The ${thing} is ${place.slice(0, -bare(place).length - 1)} the`,
        ` ${bare(place).slice(4)}.`,
      ]),
      asked: facts.map(
        ([thing, place]) => `Where is the ${thing}? ${random.chance(0.5) ? 'It' : `The ${thing}`} is ${place}.`,
      ),
    };
  },
  colours(random, count, heldOut) {
    const facts = pairs(random, en.things, en.colours, count, heldOut);
    return {
      told: facts.map(([thing, colour]) => `the ${thing} is ${colour}`),
      again: facts.map(([thing, colour]) => [`The ${thing} is`, ` ${colour}.`]),
      asked: facts.map(([thing, colour]) => `What color is the ${thing}? It is ${colour}.`),
    };
  },
  likes(random, count, heldOut) {
    const facts = pairs(random, [...en.men, ...en.women], en.hobbies, count, heldOut);
    return {
      told: facts.map(([name, hobby]) => `${name} likes ${hobby}`),
      again: facts.map(([name, hobby]) => [`${name} likes`, ` ${hobby}.`]),
      asked: facts.map(([name, hobby]) => `Who likes ${hobby}? ${name} likes ${hobby}.`),
    };
  },
  has(random, count, heldOut) {
    const facts = pairs(random, [...en.men, ...en.women], en.things, count, heldOut);
    return {
      told: facts.map(([name, thing]) => `${name} has ${article(thing)} ${thing}`),
      again: facts.map(([name, thing]) => [`${name} has the`, ` ${thing}.`]),
      asked: facts.map(([name, thing]) => `Who has the ${thing}? ${name} has the ${thing}.`),
    };
  },
  gives(random, count, heldOut) {
    const facts = pairs(random, [...en.men, ...en.women], en.things, count, heldOut);
    const givers = random.some([...en.men, ...en.women], count);
    const verb = random.pick(['gave', 'sold', 'showed', 'sent', 'brought']);
    return {
      told: facts.map(([name, thing], i) => `${givers[i]} ${verb} the ${thing} to ${name}`),
      again: facts.map(([name, thing]) => [`Now ${name} has the`, ` ${thing}.`]),
      asked: facts.map(
        ([name, thing], i) => `Who ${verb} the ${thing} to ${name}? ${givers[i]} ${verb} the ${thing} to ${name}.`,
      ),
    };
  },
};

const zhKinds = {
  places(random, count, heldOut) {
    const facts = pairs(random, zh.things, zh.places, count, heldOut);
    return {
      told: facts.map(([thing, place]) => `${thing}在${place}`),
      again: facts.map(([thing, place]) => [`${thing}在`, `${place}。`]),
      asked: facts.map(([thing, place]) =>
        random.chance(0.6)
          ? `${thing}在哪里？${random.chance(0.5) ? thing : ''}在${place}。`
          : `${place}有什么？${place}有${thing}。`,
      ),
    };
  },
  colours(random, count, heldOut) {
    const facts = pairs(random, zh.things, zh.colours, count, heldOut);
    return {
      told: facts.map(([thing, colour]) => `${thing}是${colour}的`),
      again: facts.map(([thing, colour]) => [`${thing}是`, `${colour}的。`]),
      asked: facts.map(([thing, colour]) => `${thing}是什么颜色？${thing}是${colour}的。`),
    };
  },
  likes(random, count, heldOut) {
    const facts = pairs(random, [...zh.men, ...zh.women], zh.hobbies, count, heldOut);
    return {
      told: facts.map(([name, hobby]) => `${name}喜欢${hobby}`),
      again: facts.map(([name, hobby]) => [`${name}喜欢`, `${hobby}。`]),
      asked: facts.map(([name, hobby]) => `谁喜欢${hobby}？${name}喜欢${hobby}。`),
    };
  },
  has(random, count, heldOut) {
    const facts = pairs(random, [...zh.men, ...zh.women], zh.things, count, heldOut);
    return {
      told: facts.map(([name, thing]) => `${name}有${thing}`),
      again: facts.map(([name, thing]) => [`${name}有`, `${thing}。`]),
      asked: facts.map(([name, thing]) => `谁有${thing}？${name}有${thing}。`),
    };
  },
  gives(random, count, heldOut) {
    const facts = pairs(random, [...zh.men, ...zh.women], zh.things, count, heldOut);
    const givers = random.some([...zh.men, ...zh.women], count);
    const verb = random.pick(['送给', '借给', '还给', '寄给', '交给']);
    return {
      told: facts.map(([name, thing], i) => `${givers[i]}把${thing}${verb}了${name}`),
      again: facts.map(([name, thing]) => [`现在${name}有`, `${thing}。`]),
      asked: facts.map(([name, thing], i) => `谁把${thing}${verb}了${name}？${givers[i]}把${thing}${verb}了${name}。`),
    };
  },
};

// ===== One person and a pronoun =======================================================================================

const enPronoun = (random) => {
  const man = random.chance(0.5);
  const [name, other] = random.some(man ? en.men : en.women, 2);
  const [he, his, him] = man ? ['he', 'his', 'him'] : ['she', 'her', 'her'];
  const [thing, gift] = random.some(en.things, 2);
  const place = random.pick(en.places);
  return random.pick([
    `${name} lost ${his} ${thing}. ${capital(he)} looked for it ${place}. ${name} was happy when ${he} found the ${thing}.`,
    `${name} likes ${random.pick(en.hobbies)}, so ${he} went out after school.`,
    `The ${random.pick(['cat', 'dog', 'bird', 'boy', 'girl'])} sat ${place} because it was tired.`,
    `${name} was hungry, so ${he} ate ${random.pick(en.foods)}. Then ${name} was not hungry.`,
    `${name} put the ${thing} ${place}. Then ${he} took it and gave it to ${other}. Now ${other} has the ${thing}.`,
    `${other} saw ${name} ${place}. ${other} gave ${him} the ${gift}. ${name} took the ${gift} and thanked ${other}.`,
    `${name} has ${random.pick(en.numbers)} ${random.pick(en.foods)}. ${capital(he)} eats one.`,
  ]);
};

const zhPronoun = (random) => {
  const man = random.chance(0.5);
  const [name, other] = random.some(man ? zh.men : zh.women, 2);
  const he = man ? '他' : '她';
  const [thing, gift] = random.some(zh.things, 2);
  const place = random.pick(zh.places);
  return random.pick([
    `${name}的${thing}丢了，${he}到处找。${name}在${place}找到了${thing}，${he}很高兴。`,
    `${name}喜欢${random.pick(zh.hobbies)}，${he}放学后去了${random.pick(['操场', '公园', '学校', '图书馆', '商店', '河边'])}。`,
    `${random.pick(['猫', '狗', '鸟', '兔子'])}坐在${place}，因为它累了。`,
    `${name}饿了，所以${he}吃了${random.pick(zh.foods)}。现在${name}不饿了。`,
    `${name}把${thing}放在${place}。后来${he}把${thing}给了${other}。现在${other}有${thing}。`,
    `${other}在${place}看见了${name}。${other}给了${he}${gift}。${name}拿着${gift}，谢了${other}。`,
    `${name}有${random.pick(zh.numbers)}个${random.pick(zh.things)}，${he}送给${other}一个。`,
  ]);
};

// ===== Lists, said twice ==============================================================================================

const listTwice = (random, words, separator, end) => {
  const chosen = random.some(words, random.whole(3, 8)).join(separator) + end;
  return [chosen, chosen];
};

const enWords = [...en.things, ...en.men, ...en.women, ...en.colours, ...en.foods, ...en.hobbies];
const zhWords = [...zh.things, ...zh.places, ...zh.men, ...zh.women, ...zh.colours, ...zh.foods, ...zh.hobbies];
const enList = (random) => listTwice(random, enWords, random.pick([', ', ' and ', ' ']), '.');
const zhList = (random) => listTwice(random, zhWords, random.pick(['、', '，', '和']), '。');

// ===== Texts and tests ================================================================================================

const LANGUAGES = {
  en: { kinds: enKinds, facts: enFacts, pronoun: enPronoun, list: enList, space: ' ' },
  zh: { kinds: zhKinds, facts: zhFacts, pronoun: zhPronoun, list: zhList, space: '' },
};

/** What the kinds are drawn from: places are half of them. */
const MIX = ['places', 'places', 'places', 'places', 'colours', 'likes', 'has', 'gives'];

/** A text to learn from: [told, rest], where what is told cannot be known, and the rest mostly can. */
export function worldText(random, language) {
  const { kinds, facts, pronoun, list, space } = LANGUAGES[language];
  const form = random.next();
  if (form < 0.08) {
    return ['', pronoun(random)];
  }
  if (form < 0.2) {
    return list(random);
  }
  const { told, again, asked } = kinds[random.pick(MIX)](random, random.whole(2, 4), false);
  const order = random.shuffle(told.map((_, i) => i));
  const ends = order.map((i) => (random.chance(0.2) ? asked[i] : again[i].join('')));
  return [facts(random, told), ends.join(space)];
}

/**
 * A question that no text of training answers: { prompt, answer, kind, about, heldOut }. The prompt ends where the answer
 * is the next word. All its pairs are held out.
 */
export function worldTest(random, language, kind = 'places', count = 3) {
  const { kinds, facts, space } = LANGUAGES[language];
  for (;;) {
    const { told, again } = kinds[kind](random, count, true);
    if (told.length < count) {
      continue;
    }
    const [prompt, answer] = again[random.whole(0, count - 1)];
    return { prompt: [facts(random, told), prompt].join(space), answer: answer.trim().replace(/[.。]$/, ''), kind };
  }
}
