package daflow
import ("testing";"math/rand/v2";"fmt")
func TestDbg(t *testing.T){
 random := rand.New(rand.NewPCG(3, 1))
 for run:=0;run<60;run++ {
 in := wild(random, 80)
 m:=newModel(in); b:=&m.branches[0]
 pv:=make([]float64,len(b.volume))
 for k:=1;k<=80;k++{
  copy(pv,b.volume)
  m.step(k)
  if b.flow[len(b.flow)-1]>0 { fmt.Println(run,k); n:=len(b.reaches); for i:=0;i<n;i++ {fmt.Println(i,b.flow[i],b.lateral[i],b.volume[i],pv[i],b.content[i])}; fmt.Println(b.flow[n]); for _,s:=range b.sources {fmt.Printf("%+v\n",s)}; return }
 }}
}
