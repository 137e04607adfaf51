/** uPlot as a file of its own: most pages show no chart. */
export { default } from 'uplot';
