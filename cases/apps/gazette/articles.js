// Loads more articles when the end of the list comes into view.
import { addMore } from '/more.js';

const list = document.querySelector('.entries');
const end = document.createElement('div');
end.style.height = '700px';
list.after(end);
let busy = false;
const watch = new IntersectionObserver(async ([seen]) => {
  if (!seen.isIntersecting || busy) return;
  busy = true;
  const more = await addMore('articles', list, 'Article');
  busy = false;
  watch.disconnect();
  if (more) watch.observe(end);
}, { rootMargin: '0px 0px -300px 0px' });
watch.observe(end);
