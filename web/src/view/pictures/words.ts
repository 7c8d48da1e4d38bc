/**
 * Every word of the pictures, in both languages, as flat plain objects for the page to merge into its translations.
 * `{{name}}` is filled in by the caller.
 */
import type { EntropyUnit, Words } from './types.js';

export const picturesEn = {
  mapLabel: 'Attention of {{label}}: {{rows}} queries down, {{columns}} keys across',
  mapChangeLabel: 'Change in attention of {{label}}: {{rows}} queries down, {{columns}} keys across',
  mapHelp:
    'Arrow keys move from cell to cell. Enter keeps a row, or paints with the hide and show tools. Page Up and Page Down change the head, [ and ] the layer. T changes to a table.',
  queryName: 'query {{query}} “{{text}}”',
  keyName: 'key {{key}} “{{text}}”',
  cellName: '{{query}} attends to {{key}}: {{weight}}, rank {{rank}} of {{count}}',
  cellMaskedName: '{{query}} attends to {{key}}: masked',
  cellAwaitedName: '{{query}}, {{key}}: still being computed',
  cellChangeName: '{{query}} attends to {{key}}: {{after}}, before {{before}}, change {{change}}',
  rowSummary: '{{query}}: strongest {{key}} {{weight}}',
  rowSummaryEntropy: '{{query}}: strongest {{key}} {{weight}}, entropy {{entropy}} {{unit}}',
  rowMaskedSummary: '{{query}}: every key is masked',
  rowAwaitedSummary: '{{query}}: still being computed',
  tipWeight: 'weight',
  tipRank: 'rank {{rank}} of {{count}}',
  tipScore: 'score',
  tipRawScore: 'QKᵀ',
  tipMasked: 'masked',
  tipAwaited: 'still being computed',
  tipBefore: 'before',
  tipAfter: 'after',
  tipChange: 'change',
  tipRowSum: 'row sum',
  rowValuesCaption: 'row entropy, 0 to {{max}} {{unit}}',
  mapSampled: 'one query in {{step}} is drawn; a pixel is the strongest of {{bin}} keys',
  mapAwaited: '{{count}} rows to come',
  mapFailed: 'Some rows could not be computed: {{message}}',
  mapBinned: 'a pixel is the strongest of {{bin}} × {{bin}} cells',
  zoomIn: 'Zoom in',
  zoomOut: 'Zoom out',
  zoomFit: 'Show all',
  tableCorner: 'query \\ key',
  tableEntropy: 'entropy ({{unit}})',
  tableMasked: 'masked',
  tableCut: 'The first {{rows}} queries and {{columns}} keys. Export CSV for all of them.',
  legendWeight: 'attention weight',
  legendChange: 'change in weight',
  legendLog: 'log scale',
  legendMasked: 'masked',
  legendSequentialLabel: 'Colour scale: attention weight from 0 to {{max}}',
  legendLogLabel: 'Colour scale, logarithmic: attention weight from {{min}} to {{max}}',
  legendDivergingLabel: 'Colour scale: change in weight from −{{max}} to +{{max}}',
  headsLabel: 'Heads: {{layers}} layers of {{heads}}',
  layerShort: 'L{{layer}}',
  layerName: 'Layer {{layer}}',
  headName: 'Layer {{layer}}, head {{head}}',
  headEntropyName: 'Layer {{layer}}, head {{head}}, entropy {{entropy}} {{unit}}',
  headAblatedName: '{{name}}, switched off',
  entropyLabel: 'Entropy of every head, by layer, in {{unit}}',
  entropyAxis: 'entropy ({{unit}})',
  entropyLayerAxis: 'layer',
  entropyMean: 'mean',
  entropyHead: 'head {{head}}',
  barsLabel: 'Where “{{text}}” looks',
  barsTokenName: '“{{text}}”: {{weight}}',
  barsTokenChangeName: '“{{text}}”: {{weight}}, before {{before}}',
  barsMaskedName: '“{{text}}”: masked',
  barsQueryName: '{{name}} (the query)',
  unitNats: 'nats',
  unitBits: 'bits',
  unitNormalised: 'of maximum',
} as const;

export type PictureWord = keyof typeof picturesEn;

export const picturesZh: Readonly<Record<PictureWord, string>> = {
  mapLabel: '{{label}}的注意力：纵向 {{rows}} 个查询，横向 {{columns}} 个键',
  mapChangeLabel: '{{label}}的注意力变化：纵向 {{rows}} 个查询，横向 {{columns}} 个键',
  mapHelp:
    '方向键逐格移动。回车键固定一行；用“遮住”或“放开”工具时则涂改。Page Up 和 Page Down 换头，[ 和 ] 换层，T 切换为表格。',
  queryName: '查询 {{query}}“{{text}}”',
  keyName: '键 {{key}}“{{text}}”',
  cellName: '{{query}}对{{key}}：{{weight}}，第 {{rank}} 名，共 {{count}} 个',
  cellMaskedName: '{{query}}对{{key}}：已遮住',
  cellAwaitedName: '{{query}}，{{key}}：正在计算',
  cellChangeName: '{{query}}对{{key}}：{{after}}，之前 {{before}}，差异 {{change}}',
  rowSummary: '{{query}}：最看重{{key}} {{weight}}',
  rowSummaryEntropy: '{{query}}：最看重{{key}} {{weight}}，熵 {{entropy}} {{unit}}',
  rowMaskedSummary: '{{query}}：所有键都被遮住了',
  rowAwaitedSummary: '{{query}}：正在计算',
  tipWeight: '权重',
  tipRank: '第 {{rank}} 名，共 {{count}} 个',
  tipScore: '分数',
  tipRawScore: 'QKᵀ',
  tipMasked: '已遮住',
  tipAwaited: '正在计算',
  tipBefore: '之前',
  tipAfter: '之后',
  tipChange: '差异',
  tipRowSum: '行和',
  rowValuesCaption: '每行的熵，0 到 {{max}} {{unit}}',
  mapSampled: '每 {{step}} 个查询画一个；一个像素是 {{bin}} 个键中最大的',
  mapAwaited: '还有 {{count}} 行',
  mapFailed: '有些行算不出来：{{message}}',
  mapBinned: '一个像素是 {{bin}} × {{bin}} 个格子中最大的',
  zoomIn: '放大',
  zoomOut: '缩小',
  zoomFit: '显示全部',
  tableCorner: '查询 \\ 键',
  tableEntropy: '熵（{{unit}}）',
  tableMasked: '已遮住',
  tableCut: '只列出前 {{rows}} 个查询和前 {{columns}} 个键；全部数据请导出 CSV。',
  legendWeight: '注意力权重',
  legendChange: '权重差异',
  legendLog: '对数刻度',
  legendMasked: '已遮住',
  legendSequentialLabel: '色标：注意力权重，从 0 到 {{max}}',
  legendLogLabel: '色标（对数）：注意力权重，从 {{min}} 到 {{max}}',
  legendDivergingLabel: '色标：权重差异，从 −{{max}} 到 +{{max}}',
  headsLabel: '所有头：{{layers}} 层，每层 {{heads}} 个',
  layerShort: '{{layer}} 层',
  layerName: '第 {{layer}} 层',
  headName: '第 {{layer}} 层 · 第 {{head}} 头',
  headEntropyName: '第 {{layer}} 层 · 第 {{head}} 头，熵 {{entropy}} {{unit}}',
  headAblatedName: '{{name}}，已关掉',
  entropyLabel: '每层各个头的熵，单位：{{unit}}',
  entropyAxis: '熵（{{unit}}）',
  entropyLayerAxis: '层',
  entropyMean: '平均',
  entropyHead: '第 {{head}} 头',
  barsLabel: '“{{text}}”在看哪里',
  barsTokenName: '“{{text}}”：{{weight}}',
  barsTokenChangeName: '“{{text}}”：{{weight}}，之前 {{before}}',
  barsMaskedName: '“{{text}}”：已遮住',
  barsQueryName: '{{name}}（当前查询）',
  unitNats: '奈特',
  unitBits: '比特',
  unitNormalised: '归一化',
};

/** Words from one of these tables, for a page without its own translations. An unknown key is an error. */
export function wordsFrom(table: Readonly<Record<string, string>>): Words {
  return (key, values = {}) => {
    const text = table[key];
    if (text === undefined) throw new Error(`No text for the key "${key}"`);
    return text.replace(/\{\{(\w+)\}\}/g, (place, name: string) => String(values[name] ?? place));
  };
}

const unitWords = { nats: 'unitNats', bits: 'unitBits', normalised: 'unitNormalised' } as const satisfies Record<
  EntropyUnit,
  PictureWord
>;

/** The name of an entropy's unit. */
export const unitName = (unit: EntropyUnit, words: Words): string => words(unitWords[unit]);
