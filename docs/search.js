// SPDX-License-Identifier: Apache-2.0
// The search of the site takes whole questions. Sphinx alone shows only pages that have every word of
// the query. Here pages are ranked by the words that they share with it: a rare word counts more than
// a common one, and a word in a title or heading more than one in the text.
{
  const COUNTS = {title: 1, heading: 0.7, text: 0.35, part: 0.5};
  const SCALE = 30; // above the score that Sphinx gives to the name of a class
  const SHOWN = 20;

  const stemmer = new Stemmer();
  const wordsOf = (text) => {
    const words = splitQuery(text.toLowerCase()).filter((word) => !stopwords.has(word));
    return new Set(words.map((word) => stemmer.stemWord(word)));
  };
  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

  let pages = null;
  const readIndex = ({titles, terms, titleterms, alltitles}) => {
    pages = titles.map((title) => ({title: wordsOf(title), words: new Set(), headings: []}));
    for (const [word, files] of [...Object.entries(terms), ...Object.entries(titleterms)])
      for (const file of [files].flat()) pages[file].words.add(word);
    for (const [heading, places] of Object.entries(alltitles))
      for (const [file, id] of places)
        if (id !== null) pages[file].headings.push({heading, id, words: wordsOf(heading)});
    const mean = sum(pages.map((page) => page.words.size)) / pages.length;
    // A long page has most words by chance.
    for (const page of pages) page.text = COUNTS.text / (0.6 + (0.4 * page.words.size) / mean);
  };

  // What a word of the query may be in the index: itself or, where no page has it, a part of others.
  const known = (word) => {
    const pagesWith = (one) => pages.filter((page) => page.words.has(one));
    if (pagesWith(word).length) return [word];
    const all = new Set(pages.flatMap((page) => [...page.words]));
    return word.length > 2 ? [...all].filter((other) => other.includes(word)) : [];
  };

  Search.performTermsSearch = (searchTerms, excludedTerms) => {
    const index = Search._index;
    if (pages === null) readIndex(index);
    const terms = [...searchTerms].map((term) => ({term, words: known(term)}));
    for (const term of terms) {
      term.in = (words) => term.words.some((word) => words.has(word));
      const holders = pages.filter((page) => term.in(page.words)).length;
      term.weight = holders ? Math.log((pages.length + 1) / holders) : 0;
      if (term.words[0] !== term.term) term.weight *= COUNTS.part;
    }
    const total = sum(terms.map((term) => term.weight));
    const shared = (words) => sum(terms.map((term) => (term.in(words) ? term.weight : 0)));
    const results = [];
    pages.forEach((page, file) => {
      if ([...excludedTerms].some((word) => page.words.has(word))) return;
      // A title that says nothing else counts a little more.
      const exact = (words) => [...words].filter((word) => terms.some((term) => term.words.includes(word))).length / Math.max(1, words.size);
      const score = (heading) =>
        sum(
          terms.map(({weight, in: within}) => {
            if (within(page.title)) return weight * COUNTS.title;
            if (heading && within(heading.words)) return weight * COUNTS.heading;
            return within(page.words) ? weight * page.text : 0;
          }),
        );
      let best = {score: score(null)};
      for (const heading of page.headings) {
        const found = score(heading);
        if (found > best.score) best = {score: found, heading};
      }
      if (!best.score) return;
      const {heading} = best;
      const title = index.titles[file];
      results.push([
        index.docnames[file],
        heading ? `${title} > ${heading.heading}` : title,
        heading ? `#${heading.id}` : "",
        null,
        (SCALE * best.score) / total * (0.9 + 0.1 * exact(page.title)),
        index.filenames[file],
        heading ? SearchResultKind.title : SearchResultKind.text,
      ]);
    });
    results.sort((a, b) => b[4] - a[4]);
    return results.slice(0, SHOWN);
  };
}
