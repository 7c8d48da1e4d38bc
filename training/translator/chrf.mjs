// chrF (Popović 2015, "chrF: character n-gram F-score for automatic MT evaluation"), as sacreBLEU computes it: n-grams of 1
// to 6 characters, without spaces, counted over all sentences; precision and recall averaged over n; recall counts twice as
// much. Of several references each translation is compared with the nearest.

const ORDERS = [1, 2, 3, 4, 5, 6];
const BETA = 2;

function ngrams(characters, n) {
  const counts = new Map();
  for (let i = 0; i + n <= characters.length; i++) {
    const gram = characters.slice(i, i + n).join('');
    counts.set(gram, (counts.get(gram) ?? 0) + 1);
  }
  return counts;
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** For each n: n-grams of the translation, of the reference, and of both. */
function count(translation, reference) {
  const [ours, theirs] = [translation, reference].map((text) => [...text.replace(/\s/g, '')]);
  return ORDERS.map((n) => {
    const [mine, other] = [ngrams(ours, n), ngrams(theirs, n)];
    const both = sum([...mine].map(([gram, times]) => Math.min(times, other.get(gram) ?? 0)));
    return { translation: sum([...mine.values()]), reference: sum([...other.values()]), both };
  });
}

/** 0 to 100. An n that is longer than every translation or every reference does not count. */
function score(counts) {
  const used = counts.filter(({ translation, reference }) => translation > 0 && reference > 0);
  const precision = sum(used.map(({ both, translation }) => both / translation)) / used.length;
  const recall = sum(used.map(({ both, reference }) => both / reference)) / used.length;
  const weighted = BETA ** 2 * precision + recall;
  return weighted > 0 ? (100 * (1 + BETA ** 2) * precision * recall) / weighted : 0;
}

/** Of a list of { translation, references }. */
export function chrf(sentences) {
  const total = ORDERS.map(() => ({ translation: 0, reference: 0, both: 0 }));
  for (const { translation, references } of sentences) {
    const counted = references.map((reference) => count(translation, reference));
    const nearest = counted.reduce((best, counts) => (score(counts) > score(best) ? counts : best));
    for (const [i, { translation: ours, reference, both }] of nearest.entries()) {
      total[i].translation += ours;
      total[i].reference += reference;
      total[i].both += both;
    }
  }
  return score(total);
}
