# A registrar's day in frames of Net::EPP::Frame, sent one by one through Net::EPP::Client.
#
#   perl net-epp-frames.pl <port> <CA file> <registrar> <password>
#
# Prints a line per step: its name, the result code, and what the answer brought, with tabs between them.
use strict;
use warnings;
use Net::EPP::Client;
use Net::EPP::Frame;

my ($port, $ca_file, $user, $pass) = @ARGV;
my $domain_urn  = (Net::EPP::Frame::ObjectSpec->spec('domain'))[1];
my $contact_urn = (Net::EPP::Frame::ObjectSpec->spec('contact'))[1];

my $epp = Net::EPP::Client->new(host => 'localhost', port => $port, ssl => 1, frames => 1);
my $greeting = $epp->connect(SSL_verify_mode => 1, SSL_ca_file => $ca_file);

my $sent = 0;

# Sends a command under a clTRID of its own, and returns the answer to it.
sub ask {
	my ($frame) = @_;
	my $clTRID = sprintf('PERL-%04d', ++$sent);
	$frame->clTRID->appendText($clTRID);
	my $answer = bless($epp->request($frame), 'Net::EPP::Frame::Response');
	# Not $answer->clTRID: that is the first one in the document, which in a poll message is the pending command's.
	my $own = $answer->trID->getElementsByTagName('clTRID')->shift->textContent;
	die "the answer to $clTRID is that to $own\n" if ($own ne $clTRID);
	return $answer;
}

sub step {
	my ($name, $answer, @brought) = @_;
	print join("\t", $name, $answer->code, @brought), "\n";
}

sub texts {
	my ($answer, $urn, $name) = @_;
	return map { $_->textContent } $answer->getElementsByTagNameNS($urn, $name);
}

my $login = Net::EPP::Frame::Command::Login->new;
$login->clID->appendText($user);
$login->pw->appendText($pass);
$login->version->appendText('1.0');
$login->lang->appendText('en');
$login->svcs->appendTextChild('objURI', $_) for ($domain_urn, $contact_urn);
step('login', ask($login));

my $check = Net::EPP::Frame::Command::Check::Domain->new;
$check->addDomain($_) for ('frame.test', 'taken-frame.test');
my $checked = ask($check);
step('check domains', $checked, map { $_->textContent . '=' . $_->getAttribute('avail') } $checked->getElementsByTagNameNS($domain_urn, 'name'));

my $contact = Net::EPP::Frame::Command::Create::Contact->new;
$contact->setContact('perl-frames');
$contact->addPostalInfo('int', 'Ada Perl', undef, { street => ['Dam 1'], city => 'Amsterdam', sp => 'NH', pc => '1012 JS', cc => 'NL' });
$contact->setVoice('+31.201234567');
$contact->setEmail('ada@perl.test');
$contact->setAuthInfo('contact-auth');
step('create contact', ask($contact));

my $update = Net::EPP::Frame::Command::Update::Contact->new;
$update->setContact('perl-frames');
$_->unbindNode for ($update->add, $update->rem);
my $email = $update->createElement('contact:email');
$email->appendText('ada@frames.test');
$update->chg->appendChild($email);
step('update contact', ask($update));

sub create {
	my ($name) = @_;
	my $create = Net::EPP::Frame::Command::Create::Domain->new;
	$create->setDomain($name);
	$create->setPeriod(1);
	$create->setRegistrant('perl-frames');
	$create->setContacts({ admin => 'perl-frames', tech => 'perl-frames' });
	$create->setAuthInfo('domain-auth');
	return ask($create);
}

my $created = create('frame.test');
step('create domain', $created, texts($created, $domain_urn, 'name'));
step('create domain again', create('frame.test'));
step('create a name that another holds', create('taken-frame.test'));
step('create a name that is decided later', create('pending-approve-frame.test'));

my $info = Net::EPP::Frame::Command::Info::Domain->new;
$info->setDomain('frame.test');
my $held = ask($info);
my ($exDate) = texts($held, $domain_urn, 'exDate');
step('domain info', $held, texts($held, $domain_urn, 'clID'), texts($held, $domain_urn, 'pw'));

sub renew {
	my $renew = Net::EPP::Frame::Command::Renew::Domain->new;
	$renew->setDomain('frame.test');
	$renew->setCurExpDate(substr($exDate, 0, 10));
	$renew->setPeriod(1);
	return ask($renew);
}

my $renewed = renew();
step('renew', $renewed, $exDate, texts($renewed, $domain_urn, 'exDate'));
step('renew again with the old date', renew());

# The registry decides when it likes: asked again until the message is there.
my $message;
do { $message = ask(Net::EPP::Frame::Command::Poll::Req->new) } while ($message->code == 1300);
my $name = $message->getNode($domain_urn, 'name');
step('poll', $message, $name->textContent, $name->getAttribute('paResult'));

my $ack = Net::EPP::Frame::Command::Poll::Ack->new;
$ack->setMsgID($message->getNode('msgQ')->getAttribute('id'));
step('acknowledge', ask($ack));
step('poll again', ask(Net::EPP::Frame::Command::Poll::Req->new));

my $delete = Net::EPP::Frame::Command::Delete::Domain->new;
$delete->setDomain('frame.test');
step('delete domain', ask($delete));

my $hello = $epp->request(Net::EPP::Frame::Hello->new);
print join("\t", 'hello', '', $hello->getNode('greeting') ? 'greeting' : 'something else'), "\n";

step('logout', ask(Net::EPP::Frame::Command::Logout->new));
