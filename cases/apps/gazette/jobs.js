// The button loads five more jobs, and goes when there are no more.
import { addMore } from '/more.js';

const button = document.getElementById('more');
button.addEventListener('click', async () => {
  if (!await addMore('jobs', document.querySelector('.entries'), 'Job')) button.remove();
});
