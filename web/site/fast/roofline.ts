/** Draws a roofline: what memory and arithmetic allow, and where the kernels are. Both axes are logarithmic. */
import { axisBottom, axisLeft } from 'd3-axis';
import { scaleLog } from 'd3-scale';
import { select } from 'd3-selection';
import { intensity, type Point, type Roofline } from './kernels.js';

const margin = { left: 36, right: 14, top: 30, bottom: 44 };
/** A narrow screen gets a narrow picture, so that its words stay readable. */
const widths = { least: 340, most: 720 };

/** Words of the picture, in the reader's language. */
export interface RooflineWords {
  readonly intensity: string;
  readonly gigaflops: string;
  readonly peak: (gigaflops: string) => string;
  readonly roof: (place: string, gigabytes: string) => string;
  readonly kernel: (point: Point) => string;
}

export function drawRoofline(svg: SVGSVGElement, roofline: Roofline, words: RooflineWords): void {
  const { left, right, top, bottom } = margin;
  const width = Math.min(widths.most, Math.max(widths.least, svg.clientWidth));
  const height = Math.round(160 + width * 0.36);
  const x = scaleLog([0.25, 1024], [left, width - right]);
  const highest = 2 ** Math.ceil(Math.log2(roofline.gigaflops * 1.3));
  const y = scaleLog([1, highest], [height - bottom, top]);
  const picture = select(svg).attr('viewBox', `0 0 ${width} ${height}`);
  picture.selectAll('*').remove();

  picture
    .append('g')
    .attr('transform', `translate(0 ${height - bottom})`)
    .call(axisBottom(x).tickValues([0.25, 1, 4, 16, 64, 256, 1024]).tickFormat(String));
  picture
    .append('g')
    .attr('transform', `translate(${left} 0)`)
    .call(
      axisLeft(y)
        .tickValues([1, 2, 4, 8, 16, 32, 64, 128].filter((value) => value <= highest))
        .tickFormat(String),
    );
  picture
    .append('text')
    .attr('class', 'axis')
    .attr('x', width - right)
    .attr('y', height - 8)
    .attr('text-anchor', 'end')
    .text(words.intensity);
  picture.append('text').attr('class', 'axis').attr('x', 4).attr('y', 12).text(words.gigaflops);

  for (const { place, gigabytesPerSecond } of roofline.roofs) drawRoof(place, gigabytesPerSecond);
  const ceiling = y(roofline.gigaflops);
  const ridge = Math.min(...roofline.roofs.map(({ gigabytesPerSecond }) => roofline.gigaflops / gigabytesPerSecond));
  picture
    .append('path')
    .attr('class', 'peak')
    .attr('d', `M${x(Math.max(0.25, ridge))} ${ceiling}H${width - right}`);
  picture
    .append('text')
    .attr('class', 'peak')
    .attr('x', width - right)
    .attr('y', ceiling - 6)
    .attr('text-anchor', 'end')
    .text(words.peak(roofline.gigaflops.toFixed(0)));
  roofline.points.forEach(drawPoint);

  function drawRoof(place: string, gigabytes: number): void {
    const end = Math.min(1024, roofline.gigaflops / gigabytes);
    const start = Math.max(0.25, 1 / gigabytes);
    if (end <= start) return;
    const [x0, y0, x1, y1] = [x(start), y(start * gigabytes), x(end), y(end * gigabytes)];
    picture.append('path').attr('class', 'roof').attr('d', `M${x0} ${y0}L${x1} ${y1}`);
    const angle = (Math.atan2(y1 - y0, x1 - x0) * 180) / Math.PI;
    picture
      .append('text')
      .attr('class', 'roof')
      .attr('transform', `translate(${x0 + 6} ${y0 - 8}) rotate(${angle})`)
      .attr('x', 4)
      .text(words.roof(place, gigabytes.toFixed(0)));
  }

  function drawPoint(point: Point, index: number): void {
    const group = picture.append('g').attr('class', `point ${point.kind}`);
    group.append('title').text(words.kernel(point));
    const [cx, cy] = [x(intensity(point)), y(point.gigaflops)];
    group.append('circle').attr('cx', cx).attr('cy', cy).attr('r', 9);
    group
      .append('text')
      .attr('x', cx)
      .attr('y', cy)
      .attr('dy', '0.35em')
      .attr('text-anchor', 'middle')
      .text(index + 1);
  }
}
