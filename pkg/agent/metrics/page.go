package metrics

import (
	"strconv"
	"strings"
)

// ContentType is that of the page: Prometheus' text format 0.0.4.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// page is the text. The values of a family come one after the other.
type page struct {
	text   []byte
	last   string
	family map[string]Family
}

func newPage() *page {
	p := &page{family: make(map[string]Family, len(Families))}
	for _, f := range Families {
		p.family[f.Name] = f
	}
	return p
}

// add adds a value, with a label value for each label of the family.
func (p *page) add(name string, value float64, labels ...string) {
	f, ok := p.family[name]
	if !ok || len(labels) != len(f.Labels) {
		panic("metrics: " + name + " is no family, or has other labels") // a typing error
	}
	if name != p.last {
		p.last = name
		p.text = append(p.text, "# HELP "+name+" "+f.Help+"\n# TYPE "+name+" "+f.Type+"\n"...)
	}
	p.text = append(p.text, name...)
	for i, label := range f.Labels {
		p.text = append(p.text, "{,"[min(i, 1)])
		p.text = append(p.text, label+`="`...)
		p.text = append(p.text, escape.Replace(strings.ToValidUTF8(labels[i], "\uFFFD"))...)
		p.text = append(p.text, '"')
	}
	if len(f.Labels) > 0 {
		p.text = append(p.text, '}')
	}
	p.text = append(p.text, ' ')
	p.text = strconv.AppendFloat(p.text, value, 'g', -1, 64)
	p.text = append(p.text, '\n')
}

var escape = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
