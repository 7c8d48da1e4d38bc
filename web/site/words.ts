/** The words around the lens, in both languages. */
import type { Language } from '../src/view/i18n/index.js';

const en = {
  title: 'multihead: attention you can see, touch and change',
  description:
    'Type a sentence and see every attention head of a real language model, its mask and its entropy, computed in your browser.',
  tagline: 'attention you can see, touch and change',
  language: '换成中文',
  theme: 'Colours: {{theme}}',
  auto: 'as the system',
  light: 'light',
  dark: 'dark',
  share: 'share',
  shared: 'Link copied.',
  notShared: 'The link could not be copied; it is in the address bar.',
  export: 'export',
  nothingToExport: 'There is no picture to export in this view.',
  help: 'Keyboard help',
  keys: 'Keys',
  close: 'Close',
  keyTab: 'to the next control',
  keyArrows: 'on heads: choose one · on the heatmap: move over cells · on choices: change',
  keyEnter: 'keep the row, or with a paint tool hide or show the cell',
  keyEscape: 'let the row go',
  keyPage: 'previous or next head',
  keyBrackets: 'previous or next layer',
  keyTable: 'heatmap as a table and back',
  keyUndo: 'undo, redo a change of the mask',
  keyHelp: 'this help',
  link: 'This link’s {{parts}} could not be read; the default is used.',
};

export type SiteWord = keyof typeof en;

const zh: Record<SiteWord, string> = {
  title: 'multihead：看得见、摸得着、改得动的注意力',
  description: '输入一个句子，在浏览器里实时查看真实语言模型每个注意力头的权重、掩码和熵。',
  tagline: '看得见、摸得着、改得动的注意力',
  language: 'Switch to English',
  theme: '配色：{{theme}}',
  auto: '跟随系统',
  light: '浅色',
  dark: '深色',
  share: '分享',
  shared: '链接已复制。',
  notShared: '无法复制链接，请从地址栏复制。',
  export: '导出',
  nothingToExport: '当前视图没有可导出的图。',
  help: '键盘帮助',
  keys: '按键',
  close: '关闭',
  keyTab: '到下一个控件',
  keyArrows: '在头上：选择 · 在热力图上：移动 · 在选项上：切换',
  keyEnter: '固定这一行；使用涂改工具时，遮住或放开这一格',
  keyEscape: '取消固定',
  keyPage: '上一个或下一个头',
  keyBrackets: '上一层或下一层',
  keyTable: '热力图与表格互换',
  keyUndo: '撤销、重做掩码改动',
  keyHelp: '打开本帮助',
  link: '链接中的 {{parts}} 无法识别，已使用默认值。',
};

const words = { en, zh };

export function siteWords(language: Language): (word: SiteWord, values?: Readonly<Record<string, string>>) => string {
  return (word, values = {}) =>
    words[language][word].replace(/\{\{(\w+)\}\}/g, (_, name: string) => values[name] ?? '');
}
